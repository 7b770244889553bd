// SPDX-License-Identifier: Apache-2.0
// The geometry of a blob's tree, without any data: how many chunks, chunk groups and parents there are, and
// at which position of an outboard each parent stands. Nodes below chunk groups are not stored and not
// counted.
//
// A parent above chunk groups is named by its first group and its height: it covers the groups
// [first, min(first + 2^height, all groups)), first is a multiple of 2^height, and it exists only if it
// covers more than 2^(height-1) groups. Height 1 joins two groups.
#pragma once

#include <cstdint>

#include "hashing/chunk.h"

namespace coffer {

// Bytes of a stored parent node: its two children's chaining values.
inline constexpr uint64_t kParentNodeBytes = 64;

// Heights above chunk groups that a blob of 2^64 - 1 bytes can have.
inline constexpr int kMaxHeight = 50;

// Chunks of a blob of `size_bytes`; an empty blob has one (empty) chunk.
uint64_t ChunkCount(uint64_t size_bytes);

// Chunk groups of a blob of `size_bytes`; an empty blob has one (empty) group.
uint64_t GroupCount(uint64_t size_bytes);

// Leaves under the left child of a node with `leaves` >= 2 leaves (chunks or groups alike): the largest power
// of two that leaves at least one for the right child (BLAKE3 paper 2.1).
uint64_t LeftLeaves(uint64_t leaves);

// Parents above chunk groups: one less than the groups.
uint64_t ParentCount(uint64_t size_bytes);

// Bytes of a whole outboard of a blob of `size_bytes`: its parents, without any size header.
uint64_t OutboardBytes(uint64_t size_bytes);

// Height of a node that covers `groups` >= 1 groups from its start: ceil(log2(groups)). 0 is a group itself.
int HeightOf(uint64_t groups);

// Groups covered by the node at (`first`, `height`) in a blob of `total_groups`. `first` < `total_groups`.
uint64_t GroupsUnder(GroupIndex first, int height, uint64_t total_groups);

// Position, in parents, of the parent (`first`, `height`) in an outboard in post-order (children before
// parents). It does not depend on the size of the blob when the parent is complete, so it can be written
// while hashing.
uint64_t PostOrderIndex(GroupIndex first, int height, uint64_t total_groups);

}  // namespace coffer
