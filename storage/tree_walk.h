// SPDX-License-Identifier: Apache-2.0
//
// The chain of proof from a digest down to a row: each page is checked against its parent in the page above,
// the topmost against the digest, and a row's chunk groups against their page.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hashing/digest.h"
#include "hashing/subtree.h"
#include "storage/engine.h"
#include "storage/layout.h"
#include "storage/reference.h"

namespace coffer {

// Used by one thread at a time. Keeps the proven page of each level, so going forward reads each page once.
class TreeWalk {
 public:
  // `content` is borrowed and outlives the walk.
  TreeWalk(const Digest& digest, Content& content);

  // The bytes of row `row`, which lies within the blob; valid until the next call. Its chunk groups
  // [begin_group, end_group), counted within the row and cut at its end, are proven, and only they may be used.
  // DATA_LOSS names digest and byte range of the first place that does not fit; UNAVAILABLE if the disk cannot be
  // read.
  absl::StatusOr<absl::string_view> Row(uint64_t row, size_t begin_group = 0, size_t end_group = kGroupsPerRow);

  // The range that the last DATA_LOSS named: whole chunk groups, cut at the end of the blob.
  const ByteRange& damage() const { return damage_; }

 private:
  struct Page {
    bool proven = false;
    uint64_t index = 0;
    // The chaining value of every unit.
    std::vector<ChainingValue> units;
  };

  absl::StatusOr<absl::string_view> OnlyGroup();
  // What the page above says about page `index` of `level`.
  const ChainingValue& UnitAbove(int level, uint64_t index) const;
  absl::Status ProvePage(int level, uint64_t index);
  absl::Status CheckGroups(uint64_t row, absl::string_view bytes, size_t begin_group, size_t end_group);
  absl::StatusOr<absl::string_view> ReadPiece(const PieceId& id, size_t expected_bytes, const ByteRange& covers);
  absl::Status Damaged(const ByteRange& range, absl::string_view problem);

  const Digest digest_;
  Content& content_;
  const int top_level_;
  std::array<Page, kMaxLevel + 1> pages_;
  ByteRange damage_;
};

}  // namespace coffer
