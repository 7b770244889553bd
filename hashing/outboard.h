// SPDX-License-Identifier: Apache-2.0
// The outboard of a blob in memory: its parents above chunk groups, 64 bytes for each group but one. Stores
// keep theirs in rows of their own; this one is for clients, tests and blobs that are small enough.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hashing/bytes.h"
#include "hashing/chunk.h"
#include "hashing/digest.h"
#include "hashing/subtree.h"
#include "hashing/tree_hasher.h"

namespace coffer {

// A value type. Whether its nodes are true is what Verify is for.
class Outboard {
 public:
  // Of an empty blob.
  Outboard() = default;

  // Hashes `blob` on the calling thread; its digest goes to `digest`.
  static Outboard Of(ByteSpan blob, Digest* digest);

  // From nodes in post-order, as a ParentSink gets them. INVALID_ARGUMENT, naming both numbers, unless there
  // are exactly ParentCount(size_bytes).
  static absl::StatusOr<Outboard> FromPostOrder(uint64_t size_bytes, std::vector<ParentNode> nodes);

  // From the bytes of the nodes in pre-order: what bao-tree writes for 16 KiB groups, without a size before
  // them. INVALID_ARGUMENT, naming both numbers, unless there are exactly OutboardBytes(size_bytes).
  static absl::StatusOr<Outboard> FromPreOrderBytes(uint64_t size_bytes, ByteSpan bytes);

  // The bytes in pre-order.
  std::vector<uint8_t> ToPreOrderBytes() const;

  // The node at a place of the tree that exists (tree_math.h), borrowed; a place outside it ends the program.
  const ParentNode& Node(GroupIndex first, int height) const;

  // OK if the nodes are those of `digest`; DATA_LOSS naming the digest and the byte range under the first
  // wrong node, parents before children. A blob of one group has no nodes, and nothing is wrong with none.
  absl::Status Verify(const Digest& digest) const;

  uint64_t size_bytes() const { return size_bytes_; }

  // In post-order.
  absl::Span<const ParentNode> nodes() const { return nodes_; }

 private:
  uint64_t size_bytes_ = 0;
  std::vector<ParentNode> nodes_;
};

}  // namespace coffer
