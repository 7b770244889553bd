// SPDX-License-Identifier: Apache-2.0
// The geometry against a recursive walk over the tree.
#include "hashing/tree_math.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace coffer {
namespace {

struct Walk {
  uint64_t total;
  uint64_t post = 0;

  void Visit(uint64_t first, uint64_t groups) {
    if (groups == 1) return;
    const int height = HeightOf(groups);
    ASSERT_EQ(GroupsUnder(GroupIndex(first), height, total), groups);
    const uint64_t left = LeftLeaves(groups);
    ASSERT_TRUE(left < groups && left * 2 >= groups && (left & (left - 1)) == 0);
    Visit(first, left);
    Visit(first + left, groups - left);
    ASSERT_EQ(PostOrderIndex(GroupIndex(first), height, total), post++) << total << " " << first;
  }
};

TEST(TreeMath, PositionsAgreeWithAWalkOverTheTree) {
  for (uint64_t total = 1; total <= 300; ++total) {
    Walk walk{total};
    walk.Visit(0, total);
    EXPECT_EQ(walk.post, ParentCount(total * kGroupBytes));
  }
}

TEST(TreeMath, CountsChunksAndGroups) {
  EXPECT_EQ(ChunkCount(0), 1u);
  EXPECT_EQ(ChunkCount(1024), 1u);
  EXPECT_EQ(ChunkCount(1025), 2u);
  EXPECT_EQ(GroupCount(0), 1u);
  EXPECT_EQ(GroupCount(16384), 1u);
  EXPECT_EQ(GroupCount(16385), 2u);
  EXPECT_EQ(OutboardBytes(16384), 0u);
  EXPECT_EQ(OutboardBytes(16385), 64u);
}

TEST(TreeMath, HoldsForTheLargestBlob) {
  const uint64_t size_bytes = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(GroupCount(size_bytes), uint64_t{1} << 50);
  EXPECT_EQ(HeightOf(GroupCount(size_bytes)), kMaxHeight);
  EXPECT_EQ(OutboardBytes(size_bytes), ((uint64_t{1} << 50) - 1) * 64);
  const GroupIndex last_pair((uint64_t{1} << 50) - 2);
  EXPECT_EQ(PostOrderIndex(last_pair, 1, uint64_t{1} << 50), (uint64_t{1} << 50) - 51);
}

}  // namespace
}  // namespace coffer
