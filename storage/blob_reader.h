// SPDX-License-Identifier: Apache-2.0
//
// Reads a range of a blob front to back; no byte comes out before its chunk group was checked against the
// stored tree, and the tree against the digest.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hashing/digest.h"
#include "storage/engine.h"
#include "storage/layout.h"
#include "storage/reference.h"
#include "storage/tree_walk.h"

namespace coffer {

// Used by one thread at a time. Memory: one row and one page a level (layout.h).
class BlobReader {
 public:
  // `range` lies within the blob. `suspect` is told of a blob in which damage was read. Made by BlobStore::Open, which
  // it does not outlive.
  BlobReader(const Digest& digest, std::unique_ptr<Content> content, std::optional<Reference> reference,
             ByteRange range, std::function<void(const Digest&)> suspect);

  const Digest& digest() const { return digest_; }
  uint64_t size_bytes() const { return content_->size_bytes(); }
  // The resolved range: the length is the true one, also where the request said "to the end".
  const ByteRange& range() const { return range_; }
  // Set if the blob was opened by name.
  const std::optional<Reference>& reference() const { return reference_; }

  // Fills `out` with the next verified bytes and returns how many: less than out.size() only at the end of the
  // range, 0 after it. DATA_LOSS names digest and byte range; nothing of `out` may be used then.
  absl::StatusOr<size_t> Read(absl::Span<char> out) {
    absl::StatusOr<size_t> got = ReadProven(out);
    if (absl::IsDataLoss(got.status())) suspect_(digest_);
    return got;
  }

  // Where the last DATA_LOSS was found, in whole chunk groups cut at the end of the blob.
  const ByteRange& damage() const { return walk_.damage(); }

 private:
  absl::StatusOr<size_t> ReadProven(absl::Span<char> out);

  const Digest digest_;
  const std::unique_ptr<Content> content_;
  const std::optional<Reference> reference_;
  const ByteRange range_;
  const std::function<void(const Digest&)> suspect_;
  uint64_t position_bytes_;
  // The verified row that Read copies from, and where it starts in the blob.
  absl::string_view row_;
  uint64_t row_offset_bytes_ = 0;
  TreeWalk walk_;
};

}  // namespace coffer
