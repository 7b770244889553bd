// SPDX-License-Identifier: Apache-2.0
#include "storage/layout.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hashing/tree_hasher.h"
#include "tests/contract/contract_suite.h"

namespace coffer {
namespace {

using Pieces = std::vector<std::pair<PieceId, size_t>>;

// What PieceBuilder makes of a blob of `size_bytes` fed in `step_bytes`: ids and sizes.
Pieces Build(size_t size_bytes, size_t step_bytes) {
  const std::string content(size_bytes, 'c');
  Pieces pieces;
  const auto take = [&](const PieceId& id, absl::string_view bytes) {
    pieces.emplace_back(id, bytes.size());
    return absl::OkStatus();
  };
  PieceBuilder builder;
  TreeHasher hasher(nullptr, [&](int height, const ParentNode& node) { builder.AddParent(height, node); });
  for (size_t begin = 0; begin < size_bytes; begin += step_bytes) {
    const absl::string_view step = absl::string_view(content).substr(begin, step_bytes);
    builder.AddBytes(step);
    hasher.Append(BytesOf(step));
    EXPECT_TRUE(builder.TakeComplete(take).ok());
  }
  hasher.Finish();
  EXPECT_TRUE(builder.TakeRest(take).ok());
  return pieces;
}

// The pieces that the geometry promises to readers.
std::map<PieceId, size_t> Expected(uint64_t size_bytes) {
  std::map<PieceId, size_t> pieces;
  for (uint64_t begin = 0; begin < size_bytes; begin += kRowBytes) {
    pieces[RowId(begin / kRowBytes)] = std::min<uint64_t>(kRowBytes, size_bytes - begin);
  }
  if (size_bytes == 0) return pieces;
  for (int level = 1; level <= TopLevel(size_bytes); ++level) {
    for (uint64_t index = 0; index * SegmentsPerPage(level) < SegmentCount(size_bytes); ++index) {
      const uint64_t units = PageUnits(level, index, size_bytes);
      if (units > 1) pieces[PageId(level, index, size_bytes)] = (units - 1) * kParentBytes;
    }
  }
  return pieces;
}

TEST(PieceBuilder, MakesThePiecesThatReadersExpectInOrder) {
  std::vector<size_t> sizes = {0, 1};
  for (size_t segments : {1, 2, 3, 255, 256, 257}) {
    for (const size_t delta : {size_t{0}, size_t{1}, kGroupBytes, kGroupBytes + 1, kSegmentBytes / 2}) {
      sizes.push_back(segments * kSegmentBytes + delta);
      sizes.push_back(segments * kSegmentBytes - delta);
    }
  }
  for (const size_t size : sizes) {
    const Pieces pieces = Build(size, kSegmentBytes);
    for (size_t i = 1; i < pieces.size(); ++i) ASSERT_LT(pieces[i - 1].first, pieces[i].first) << size;
    const std::map<PieceId, size_t> expected = Expected(size);
    EXPECT_EQ((std::map<PieceId, size_t>(pieces.begin(), pieces.end())), expected) << size;
    EXPECT_EQ(pieces.size(), expected.size()) << size;
  }
}

TEST(PieceBuilder, DoesNotDependOnHowTheBytesArrive) {
  const size_t size = 3 * kSegmentBytes + 5 * kGroupBytes + 17;
  const Pieces whole = Build(size, size);
  for (const size_t step : {size_t{1000}, size_t{61440}, kSegmentBytes + 1}) EXPECT_EQ(Build(size, step), whole);
}

TEST(Layout, HasRoomForTheLargestBlob) {
  const uint64_t largest = uint64_t{1} << 40;
  EXPECT_EQ(SegmentCount(largest), uint64_t{1} << 20);
  EXPECT_LE(TopLevel(largest), kMaxLevel);
  EXPECT_EQ(PageUnits(TopLevel(largest), 0, largest), 16u);
}

}  // namespace
}  // namespace coffer
