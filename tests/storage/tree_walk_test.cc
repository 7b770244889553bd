// SPDX-License-Identifier: Apache-2.0
#include "storage/tree_walk.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hashing/bytes.h"
#include "hashing/tree_hasher.h"
#include "tests/contract/contract_suite.h"

namespace coffer {
namespace {

// A blob's pieces in a map, to be damaged at will.
class StoredPieces : public Content {
 public:
  explicit StoredPieces(const std::string& content) : size_bytes_(content.size()) {
    PieceBuilder builder;
    TreeHasher hasher(nullptr, [&](int height, const ParentNode& node) { builder.AddParent(height, node); });
    builder.AddBytes(content);
    hasher.Append(BytesOf(content));
    digest = hasher.Finish();
    EXPECT_TRUE(builder
                    .TakeRest([&](const PieceId& id, absl::string_view bytes) {
                      pieces[id] = std::string(bytes);
                      return absl::OkStatus();
                    })
                    .ok());
  }

  uint64_t size_bytes() const override { return size_bytes_; }
  uint64_t version() const override { return 1; }
  absl::string_view quarantine() const override { return ""; }
  absl::StatusOr<absl::string_view> Read(const PieceId& id) override {
    const auto found = pieces.find(id);
    if (found == pieces.end()) return absl::DataLossError("the piece is missing");
    return found->second;
  }

  std::map<PieceId, std::string> pieces;
  Digest digest;

 private:
  const uint64_t size_bytes_;
};

// The first row that is not proven, or -1.
int FirstBadRow(StoredPieces& stored, ByteRange* damage = nullptr) {
  TreeWalk walk(stored.digest, stored);
  for (uint64_t row = 0; row == 0 || row * kRowBytes < stored.size_bytes(); ++row) {
    const absl::Status status = walk.Row(row).status();
    if (status.ok()) continue;
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), stored.digest.ToHex())) << status;
    if (damage != nullptr) *damage = walk.damage();
    return static_cast<int>(row);
  }
  return -1;
}

TEST(TreeWalk, NoDamagedPieceIsBelieved) {
  for (const size_t size :
       {size_t{1}, kGroupBytes, kGroupBytes + 1, kRowBytes, kSegmentBytes + 5, 3 * kSegmentBytes + 3 * kGroupBytes}) {
    StoredPieces stored(RandomBytes(size, size));
    ASSERT_EQ(FirstBadRow(stored), -1) << size;
    for (auto& [id, bytes] : stored.pieces) {
      // A step that meets every node of a page and every part of a chunk sooner or later.
      for (size_t i = 0; i < bytes.size(); i += 1 + bytes.size() / 37) {
        bytes[i] = static_cast<char>(bytes[i] ^ 1);
        EXPECT_NE(FirstBadRow(stored), -1) << size << " level " << int{id.level} << " byte " << i;
        bytes[i] = static_cast<char>(bytes[i] ^ 1);
      }
      const std::string whole = bytes;
      bytes.pop_back();
      EXPECT_NE(FirstBadRow(stored), -1);
      bytes = whole + "x";
      EXPECT_NE(FirstBadRow(stored), -1);
      bytes = whole;
    }
    const std::map<PieceId, std::string> whole = stored.pieces;
    for (const auto& [id, _] : whole) {
      stored.pieces.erase(id);
      EXPECT_NE(FirstBadRow(stored), -1) << "missing";
      stored.pieces = whole;
    }
  }
}

TEST(TreeWalk, NamesTheDamagedGroup) {
  StoredPieces stored(RandomBytes(2 * kSegmentBytes + 100, 1));
  ByteRange damage;
  stored.pieces[RowId(17)][3 * kGroupBytes + 5] ^= 1;
  EXPECT_EQ(FirstBadRow(stored, &damage), 17);
  EXPECT_EQ(damage.offset_bytes, 17 * kRowBytes + 3 * kGroupBytes);
  EXPECT_EQ(damage.length_bytes, kGroupBytes);
  stored.pieces[RowId(17)][3 * kGroupBytes + 5] ^= 1;
  stored.pieces[RowId(32)][99] ^= 1;
  EXPECT_EQ(FirstBadRow(stored, &damage), 32);
  EXPECT_EQ(damage.offset_bytes, 2 * kSegmentBytes);
  EXPECT_EQ(damage.length_bytes, 100u);
}

TEST(TreeWalk, DamageInOnePartLeavesTheRestReadable) {
  StoredPieces stored(RandomBytes(3 * kSegmentBytes, 2));
  stored.pieces[PageId(1, 1, stored.size_bytes())][0] ^= 1;
  TreeWalk walk(stored.digest, stored);
  EXPECT_TRUE(walk.Row(0).ok());
  EXPECT_FALSE(walk.Row(kRowsPerSegment).ok());
  EXPECT_EQ(walk.damage().offset_bytes, kSegmentBytes);
  EXPECT_EQ(walk.damage().length_bytes, kSegmentBytes);
  EXPECT_TRUE(walk.Row(2 * kRowsPerSegment).ok());
}

TEST(TreeWalk, ProvesBlobsWithThreeLevelsOfPages) {
  StoredPieces stored(RandomBytes(257 * kSegmentBytes + 3 * kGroupBytes, 3));
  ASSERT_EQ(TopLevel(stored.size_bytes()), 3);
  TreeWalk walk(stored.digest, stored);
  for (const uint64_t row : {uint64_t{0}, 255 * kRowsPerSegment, 256 * kRowsPerSegment, 257 * kRowsPerSegment}) {
    EXPECT_TRUE(walk.Row(row).ok()) << row;
  }
  stored.pieces[PageId(3, 0, stored.size_bytes())][0] ^= 1;
  EXPECT_FALSE(TreeWalk(stored.digest, stored).Row(0).ok());
}

}  // namespace
}  // namespace coffer
