// SPDX-License-Identifier: Apache-2.0
// Hashing parts of a blob anywhere and joining them to the root: chaining values of subtrees and of chunk
// groups, parents, and the root (BLAKE3 paper 2.1, 2.4, 5.1). Plain hashing only; all functions run on the
// calling thread, use the active kernel, allocate nothing and are safe to call from any thread.
#pragma once

#include "absl/types/span.h"
#include "hashing/bytes.h"
#include "hashing/chunk.h"
#include "hashing/digest.h"

namespace coffer {

// A parent as it is stored and hashed: 64 bytes, the left child's chaining value and then the right child's.
struct ParentNode {
  ChainingValue left;
  ChainingValue right;
  friend bool operator==(const ParentNode&, const ParentNode&) = default;
};
static_assert(sizeof(ParentNode) == 64, "nodes are read and written as 64 bytes");

// The chaining value of a subtree that is not the root: `bytes` (not empty) start at chunk `first_chunk` of
// the blob and are either a power of two of whole chunks, with `first_chunk` a multiple of that number, or
// the blob's tail from such a place. Any other place ends the program.
ChainingValue SubtreeChainingValue(ByteSpan bytes, ChunkIndex first_chunk);

// One chaining value per chunk group of `bytes` (not empty), which start at group `first_group` of the blob;
// the last group may be partial. None of them is the root, so the blob has more than one group. `out` has
// GroupCount(bytes) elements.
void GroupChainingValues(ByteSpan bytes, GroupIndex first_group, absl::Span<ChainingValue> out);

// The chaining value of a parent that is not the root.
ChainingValue ParentChainingValue(const ParentNode& node);

// The same for many at once, in SIMD lanes. `out` has as many elements as `nodes` and does not overlap them.
void ParentChainingValues(absl::Span<const ParentNode> nodes, absl::Span<ChainingValue> out);

// The digest of a blob of more than one chunk, from the parent at its top.
Digest RootDigest(const ParentNode& node);

// The digest of a whole blob that lies in memory, empty ones included.
Digest HashBlob(ByteSpan bytes);

}  // namespace coffer
