// SPDX-License-Identifier: Apache-2.0
// Slices: a byte range of a blob with the tree nodes that prove it, as Bao with 16 KiB chunk groups writes
// them (bao-tree's encode_ranges_validated over ranges widened to groups): in pre-order, each parent's 64
// bytes before what lies under it, each group's bytes in its place. The blob's size is not part of it; it
// travels beside the slice.
//
// A range covers the groups that it touches. One that touches none, because it is empty or begins behind the
// end, is answered with the last group, which proves the size. So does every range that reaches the end;
// others prove their bytes, whatever the size may be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hashing/bytes.h"
#include "hashing/chunk.h"
#include "hashing/digest.h"
#include "hashing/subtree.h"
#include "hashing/tree_math.h"

namespace coffer {

// Bytes [offset_bytes, offset_bytes + length_bytes) of a blob; the end may lie behind the blob's, and even
// behind 2^64.
struct ByteRange {
  uint64_t offset_bytes = 0;
  uint64_t length_bytes = 0;
};

// A part of a slice: a parent, or a chunk group if height is 0.
struct SliceItem {
  GroupIndex first;
  int height = 0;
  // Bytes of the blob under it: [offset_bytes, offset_bytes + size_bytes).
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  bool is_root = false;
  // For a parent, which children belong to the slice; at least one does.
  bool left = false;
  bool right = false;

  bool is_parent() const { return height > 0; }
  // Bytes it takes in the slice.
  uint64_t encoded_bytes() const { return is_parent() ? kParentNodeBytes : size_bytes; }
};

// The items of a slice in their order, from the geometry alone. Copyable; holds one path.
class SliceWalk {
 public:
  // Of a blob of `size_bytes`.
  SliceWalk(uint64_t size_bytes, ByteRange range);

  // The next item, or nothing behind the last one.
  std::optional<SliceItem> Next();

  // Groups of the slice: [first_group, end_group).
  GroupIndex first_group() const { return first_group_; }
  GroupIndex end_group() const { return end_group_; }

 private:
  struct Subtree {
    uint64_t first;
    uint64_t groups;
  };
  bool Wants(const Subtree& subtree) const;

  uint64_t size_bytes_;
  GroupIndex first_group_;
  GroupIndex end_group_;
  // Subtrees still to visit, the next one last: at most one right sibling a level.
  std::array<Subtree, kMaxHeight + 2> waiting_;
  size_t waiting_count_ = 0;
};

// Bytes of the slice of `range` of a blob of `size_bytes`; 2^64 - 1 if there are more.
uint64_t SliceBytes(uint64_t size_bytes, ByteRange range);

// Checks nodes and groups on their way down from a digest, in the order of a SliceWalk. Holds one path. After
// the first failure every call returns it again.
class SliceVerifier {
 public:
  explicit SliceVerifier(const Digest& digest) : digest_(digest) {}

  // DATA_LOSS, naming the digest and the byte range under it, unless `node` is the true one at `item`.
  absl::Status CheckParent(const SliceItem& item, const ParentNode& node);

  // The same for the `bytes` of a group: item.size_bytes of them, or it is not the true group either.
  absl::Status CheckGroup(const SliceItem& item, ByteSpan bytes);

  const Digest& digest() const { return digest_; }

 private:
  absl::Status Damage(const SliceItem& item);

  Digest digest_;
  absl::Status failure_;
  // Values of the subtrees still to come, the next one last.
  std::array<ChainingValue, kMaxHeight + 2> expected_;
  size_t expected_count_ = 0;
};

// Writes a slice from wherever nodes and groups are kept, proving each of them before it is handed out. Holds one
// path. One thread at a time.
class SliceEncoder {
 public:
  // The node or the bytes at a place, or the error that the caller of Next shall see. Called within Next.
  using NodeSource = absl::FunctionRef<absl::StatusOr<ParentNode>(GroupIndex first, int height)>;
  // `out` has the group's size and takes its bytes.
  using GroupSource = absl::FunctionRef<absl::Status(GroupIndex group, absl::Span<uint8_t> out)>;

  SliceEncoder(const Digest& digest, uint64_t size_bytes, ByteRange range);

  // Appends the next item to `out`; false behind the last one. DATA_LOSS as SliceVerifier, after which it fails
  // for good, or a source's error, after which another call asks for the same item again; `out` is then as it was.
  absl::StatusOr<bool> Next(NodeSource nodes, GroupSource groups, std::string* out);

 private:
  SliceWalk walk_;
  SliceVerifier verifier_;
  std::optional<SliceItem> item_;  // the next one
};

// Takes a slice from an untrusted peer in pieces of any size and hands out the bytes of the range, each only
// when it is proven. Holds one group and one path, whatever it is told. One thread at a time.
class SliceDecoder {
 public:
  // Proven bytes of the range, in order, borrowed during the call. Called within Feed.
  using Release = absl::FunctionRef<void(uint64_t offset_bytes, ByteSpan bytes)>;

  // `digest` is trusted; `size_bytes` is what the peer says, and `range` what was asked for.
  SliceDecoder(const Digest& digest, uint64_t size_bytes, ByteRange range);

  // DATA_LOSS naming the digest and the byte range under the first item that is not true, or saying that bytes
  // follow the end of the slice. After that every call returns the same and releases nothing.
  absl::Status Feed(ByteSpan bytes, Release release);

  // OK if the slice is complete; DATA_LOSS naming the place where it stops otherwise. An empty blob's slice
  // is empty and proven here.
  absl::Status Finish();

 private:
  absl::Status TakeItem(ByteSpan bytes, Release release);
  absl::Status Fail(absl::Status failure);

  ByteRange range_;
  SliceWalk walk_;
  SliceVerifier verifier_;
  std::optional<SliceItem> item_;  // the one that is being gathered
  absl::Status failure_;
  size_t gathered_bytes_ = 0;
  std::unique_ptr<uint8_t[]> buffer_;  // a group, made when the first piece does not hold a whole item
};

}  // namespace coffer
