// SPDX-License-Identifier: Apache-2.0
// Counting in a left-complete binary tree.
#include "hashing/tree_math.h"

#include <algorithm>
#include <bit>

namespace coffer {
namespace {

uint64_t LeafCount(uint64_t size_bytes, uint64_t leaf_bytes) {
  return size_bytes == 0 ? 1 : (size_bytes - 1) / leaf_bytes + 1;
}

// Parents of the complete subtrees that lie before `first`: a subtree of n leaves has n - 1.
uint64_t ParentsBefore(GroupIndex first) { return first.value() - static_cast<uint64_t>(std::popcount(first.value())); }

}  // namespace

uint64_t ChunkCount(uint64_t size_bytes) { return LeafCount(size_bytes, kChunkBytes); }
uint64_t GroupCount(uint64_t size_bytes) { return LeafCount(size_bytes, kGroupBytes); }
uint64_t LeftLeaves(uint64_t leaves) { return std::bit_floor(leaves - 1); }
uint64_t ParentCount(uint64_t size_bytes) { return GroupCount(size_bytes) - 1; }
uint64_t OutboardBytes(uint64_t size_bytes) { return ParentCount(size_bytes) * kParentNodeBytes; }
int HeightOf(uint64_t groups) { return std::bit_width(groups - 1); }

uint64_t GroupsUnder(GroupIndex first, int height, uint64_t total_groups) {
  return std::min(uint64_t{1} << height, total_groups - first.value());
}

uint64_t PostOrderIndex(GroupIndex first, int height, uint64_t total_groups) {
  // Everything complete to the left, then the parents below this one, then this one.
  return ParentsBefore(first) + GroupsUnder(first, height, total_groups) - 2;
}

}  // namespace coffer
