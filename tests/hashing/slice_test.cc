// SPDX-License-Identifier: Apache-2.0
// Outboards and slices: against the reference tree, against bao-tree's golden vectors, and against damage of
// every kind.
#include "hashing/slice.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hashing/outboard.h"
#include "hashing/subtree.h"
#include "tests/hashing/sample_blobs.h"
#include "tests/reference/reference_tree.h"

namespace coffer {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();

// A blob with everything that a server would keep of it.
struct Stored {
  std::vector<uint8_t> blob;
  Digest digest;
  Outboard outboard;

  explicit Stored(size_t size_bytes, uint64_t seed = 1) : blob(SampleBlob(size_bytes, seed)) {
    outboard = Outboard::Of(blob, &digest);
  }

  absl::StatusOr<std::string> Encode(ByteRange range) const {
    SliceEncoder encoder(digest, blob.size(), range);
    const auto node = [&](GroupIndex first, int height) -> absl::StatusOr<ParentNode> {
      return outboard.Node(first, height);
    };
    const auto group = [&](GroupIndex index, absl::Span<uint8_t> out) {
      std::copy_n(blob.begin() + static_cast<long>(index.offset_bytes()), out.size(), out.begin());
      return absl::OkStatus();
    };
    std::string slice;
    while (true) {
      const absl::StatusOr<bool> more = encoder.Next(node, group, &slice);
      if (!more.ok()) return more.status();
      if (!*more) return slice;
    }
  }

  std::vector<uint8_t> BytesIn(ByteRange range) const {
    const uint64_t begin = std::min<uint64_t>(range.offset_bytes, blob.size());
    const uint64_t end = begin + std::min<uint64_t>(range.length_bytes, blob.size() - begin);
    return {blob.begin() + static_cast<long>(begin), blob.begin() + static_cast<long>(end)};
  }
};

// What came out of a decoder.
struct Decoded {
  std::vector<uint8_t> bytes;
  absl::Status status;
};

Decoded Decode(const Digest& digest, uint64_t size_bytes, ByteRange range, absl::string_view slice, size_t piece) {
  Decoded decoded;
  SliceDecoder decoder(digest, size_bytes, range);
  uint64_t next = range.offset_bytes;
  const auto release = [&](uint64_t offset, ByteSpan bytes) {
    EXPECT_EQ(offset, next);
    next += bytes.size();
    decoded.bytes.insert(decoded.bytes.end(), bytes.begin(), bytes.end());
  };
  for (size_t at = 0; at < slice.size(); at += piece) {
    decoded.status = decoder.Feed(BytesOf(slice.substr(at, piece)), release);
    if (!decoded.status.ok()) return decoded;
  }
  decoded.status = decoder.Finish();
  return decoded;
}

TEST(Outboard, HoldsTheReferenceTreesParents) {
  for (size_t size : BoundarySizes(2 << 20)) {
    const Stored stored(size);
    ASSERT_EQ(stored.digest, HashBlob(stored.blob));
    std::vector<uint8_t> pre_order;
    for (const reference::Parent& parent : reference::PreOrderParents(stored.blob)) {
      pre_order.insert(pre_order.end(), parent.node.begin(), parent.node.end());
    }
    ASSERT_EQ(stored.outboard.ToPreOrderBytes(), pre_order) << size;
    ASSERT_EQ(pre_order.size(), OutboardBytes(size));
    const absl::StatusOr<Outboard> again = Outboard::FromPreOrderBytes(size, pre_order);
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(again->nodes(), stored.outboard.nodes()) << size;
    ASSERT_TRUE(again->Verify(stored.digest).ok());
  }
}

TEST(Outboard, RefusesOtherNumbersOfNodes) {
  EXPECT_THAT(Outboard::FromPreOrderBytes(16385, std::vector<uint8_t>(63)).status().message(),
              HasSubstr("16385 bytes has 64 bytes, got 63"));
  EXPECT_THAT(Outboard::FromPostOrder(16384, std::vector<ParentNode>(1)).status().message(),
              HasSubstr("16384 bytes has 0 nodes, got 1"));
}

TEST(Outboard, VerifyNamesTheFirstDamagedNode) {
  for (size_t groups : {2, 3, 4, 5, 7, 8, 13}) {
    const Stored stored(groups * kGroupBytes);
    SliceWalk walk(stored.blob.size(), {0, kEndless});
    while (const std::optional<SliceItem> item = walk.Next()) {
      if (!item->is_parent()) continue;
      const uint64_t i = PostOrderIndex(item->first, item->height, groups);
      for (bool left : {true, false}) {
        std::vector<ParentNode> nodes(stored.outboard.nodes().begin(), stored.outboard.nodes().end());
        (left ? nodes[i].left : nodes[i].right).mutable_data()[7] ^= 1;
        const absl::Status status = Outboard::FromPostOrder(stored.blob.size(), nodes)->Verify(stored.digest);
        ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << groups << " groups, node " << i;
        ASSERT_THAT(status.message(), HasSubstr(stored.digest.ToHex()));
        ASSERT_THAT(status.message(), HasSubstr(absl::StrCat("over bytes [", item->offset_bytes, ", ",
                                                             item->offset_bytes + item->size_bytes, ")")));
      }
    }
  }
}

TEST(OutboardDeathTest, HasNoNodeOutsideItsTree) {
  const Stored stored(5 * kGroupBytes);
  for (const auto& [first, height] : std::vector<std::pair<uint64_t, int>>{{4, 1}, {1, 1}, {0, 0}, {0, 4}, {6, 1}}) {
    EXPECT_DEATH(stored.outboard.Node(GroupIndex(first), height), "a node is asked for at a place of its tree");
  }
  EXPECT_DEATH(Outboard().Node(GroupIndex(0), 1), "a node is asked for at a place of its tree");
}

std::vector<ByteRange> RangesOf(uint64_t size) {
  std::vector<ByteRange> ranges = {
      {0, size},    {0, 0}, {0, 1}, {size, 0}, {size, 5}, {0, kEndless}, {kEndless, kEndless}, {size / 2, kEndless},
      {size / 2, 1}};
  for (uint64_t offset : {uint64_t{1}, uint64_t{16383}, uint64_t{16384}, uint64_t{40000}, size - size / 3}) {
    for (uint64_t length : {uint64_t{1}, uint64_t{2}, uint64_t{16384}, uint64_t{20000}, size / 3}) {
      ranges.push_back({offset, length});
    }
  }
  return ranges;
}

TEST(Slice, RoundTripsEveryRangeInPiecesOfAnySize) {
  for (size_t size : {0, 1, 1024, 16383, 16384, 16385, 32768, 32769, 49152, 100000, 131072, 131073, 600000}) {
    const Stored stored(size);
    for (ByteRange range : RangesOf(size)) {
      const absl::StatusOr<std::string> slice = stored.Encode(range);
      ASSERT_TRUE(slice.ok()) << slice.status();
      ASSERT_EQ(slice->size(), SliceBytes(size, range))
          << size << " " << range.offset_bytes << " " << range.length_bytes;
      for (size_t piece : {size_t{1} << 30, size_t{61}, size_t{16384}, size_t{5000}}) {
        const Decoded decoded = Decode(stored.digest, size, range, *slice, piece);
        ASSERT_TRUE(decoded.status.ok()) << decoded.status;
        ASSERT_EQ(decoded.bytes, stored.BytesIn(range));
      }
    }
  }
}

TEST(Slice, EqualsBaoTree) {
  std::ifstream file(BAO_VECTORS);
  ASSERT_TRUE(file.is_open()) << BAO_VECTORS;
  int slices = 0;
  std::unique_ptr<Stored> stored;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    uint64_t size = 0;
    words >> kind >> size;
    if (kind == "blob") {
      std::string digest;
      std::string pre_order;
      std::string post_order;
      words >> digest >> pre_order >> post_order;
      stored = std::make_unique<Stored>(size);
      ASSERT_EQ(stored->digest.ToHex(), digest) << line;
      ASSERT_EQ(HashBlob(stored->outboard.ToPreOrderBytes()).ToHex(), pre_order) << line;
      const absl::Span<const ParentNode> nodes = stored->outboard.nodes();
      ASSERT_EQ(HashBlob(ByteSpan(reinterpret_cast<const uint8_t*>(nodes.data()), nodes.size() * 64)).ToHex(),
                post_order)
          << line;
    } else if (kind == "slice") {
      ByteRange range;
      size_t slice_bytes = 0;
      std::string slice_digest;
      words >> range.offset_bytes >> range.length_bytes >> slice_bytes >> slice_digest;
      const absl::StatusOr<std::string> slice = stored->Encode(range);
      ASSERT_TRUE(slice.ok()) << slice.status();
      ASSERT_EQ(slice->size(), slice_bytes) << line;
      ASSERT_EQ(HashBlob(BytesOf(*slice)).ToHex(), slice_digest) << line;
      ++slices;
    }
  }
  EXPECT_GT(slices, 250);
}

TEST(SliceDecoder, RejectsEveryFlippedBitBeforeReleasingIt) {
  const Stored stored(5 * kGroupBytes + 100);
  const ByteRange range{kGroupBytes + 10, 3 * kGroupBytes};
  const std::string slice = *stored.Encode(range);
  const std::vector<uint8_t> whole = stored.BytesIn(range);
  std::mt19937_64 random(23);
  for (int round = 0; round < 1500; ++round) {
    std::string damaged = slice;
    // All of the first nodes' bytes, then some of the rest.
    const size_t at = round < 256 ? static_cast<size_t>(round) : random() % slice.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    const Decoded decoded = Decode(stored.digest, stored.blob.size(), range, damaged, 1 + random() % 40000);
    ASSERT_EQ(decoded.status.code(), absl::StatusCode::kDataLoss) << at;
    ASSERT_THAT(decoded.status.message(), HasSubstr(stored.digest.ToHex()));
    ASSERT_LE(decoded.bytes.size(), whole.size());
    ASSERT_TRUE(std::equal(decoded.bytes.begin(), decoded.bytes.end(), whole.begin())) << at;
  }
}

TEST(SliceDecoder, NamesTheByteRangeOfTheDamage) {
  const Stored stored(4 * kGroupBytes);
  std::string slice = *stored.Encode({0, kEndless});
  // Root, left parent, group 0, group 1: its first byte.
  std::string damaged = slice;
  damaged[64 + 64 + kGroupBytes] ^= 1;
  EXPECT_THAT(Decode(stored.digest, stored.blob.size(), {0, kEndless}, damaged, 1 << 20).status.message(),
              HasSubstr("damaged content in bytes [16384, 32768)"));
  damaged = slice;
  damaged[64] ^= 1;
  EXPECT_THAT(Decode(stored.digest, stored.blob.size(), {0, kEndless}, damaged, 1 << 20).status.message(),
              HasSubstr("damaged tree node over bytes [0, 32768)"));
}

TEST(SliceDecoder, RejectsShortAndLongSlices) {
  for (size_t size : {0, 10, 16384, 16385, 100000}) {
    const Stored stored(size);
    const std::string slice = *stored.Encode({0, kEndless});
    for (size_t length : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, slice.size() / 2, slice.size() - 1}) {
      if (length >= slice.size()) continue;
      const Decoded decoded = Decode(stored.digest, size, {0, kEndless}, slice.substr(0, length), 1000);
      ASSERT_EQ(decoded.status.code(), absl::StatusCode::kDataLoss);
      ASSERT_THAT(decoded.status.message(), HasSubstr("ends within"));
    }
    ASSERT_THAT(Decode(stored.digest, size, {0, kEndless}, slice + "x", 1000).status.message(),
                HasSubstr("follow the end"));
  }
}

// A slice cut into its items, put together in another way.
TEST(SliceDecoder, RejectsItemsThatAreSwappedRepeatedOrLeftOut) {
  const Stored stored(7 * kGroupBytes + 5);
  const ByteRange range{kGroupBytes, 5 * kGroupBytes};
  const std::string slice = *stored.Encode(range);
  std::vector<std::string> items;
  SliceWalk walk(stored.blob.size(), range);
  size_t at = 0;
  while (const std::optional<SliceItem> item = walk.Next()) {
    items.push_back(slice.substr(at, item->encoded_bytes()));
    at += items.back().size();
  }
  const std::vector<uint8_t> whole = stored.BytesIn(range);
  const auto expect_refused = [&](const std::vector<std::string>& parts, const char* how, size_t i, size_t j) {
    const Decoded decoded = Decode(stored.digest, stored.blob.size(), range, absl::StrJoin(parts, ""), 10000);
    ASSERT_EQ(decoded.status.code(), absl::StatusCode::kDataLoss) << how << " " << i << " " << j;
    ASSERT_LE(decoded.bytes.size(), whole.size());
    ASSERT_TRUE(std::equal(decoded.bytes.begin(), decoded.bytes.end(), whole.begin())) << how << " " << i << " " << j;
  };
  for (size_t i = 0; i < items.size(); ++i) {
    std::vector<std::string> parts = items;
    parts.erase(parts.begin() + static_cast<long>(i));
    expect_refused(parts, "left out", i, i);
    for (size_t j = 0; j < items.size(); ++j) {
      parts = items;
      parts.insert(parts.begin() + static_cast<long>(j), items[i]);
      expect_refused(parts, "repeated", i, j);
      if (i == j) continue;
      parts = items;
      std::swap(parts[i], parts[j]);
      expect_refused(parts, "swapped", i, j);
    }
  }
}

TEST(SliceDecoder, RejectsALieAboutTheSizeWhereItMatters) {
  for (size_t size : {0, 1, 1000, 16384, 16385, 50000, 65536}) {
    const Stored stored(size);
    const std::string slice = *stored.Encode({0, kEndless});
    for (uint64_t lie : {uint64_t{0}, uint64_t{1}, size - uint64_t{1}, size + uint64_t{1}, uint64_t{size} * 2,
                         uint64_t{1} << 40, kEndless}) {
      if (lie == size) continue;
      const Decoded decoded = Decode(stored.digest, lie, {0, kEndless}, slice, 1 << 20);
      ASSERT_EQ(decoded.status.code(), absl::StatusCode::kDataLoss) << size << " told as " << lie;
    }
    // The size alone, proven by the last group.
    EXPECT_TRUE(Decode(stored.digest, size, {kEndless, 1}, *stored.Encode({kEndless, 1}), 1 << 20).status.ok());
  }
}

TEST(SliceDecoder, StaysFailed) {
  const Stored stored(100000);
  std::string slice = *stored.Encode({0, kEndless});
  SliceDecoder decoder(stored.digest, 100000, {0, kEndless});
  const auto never = [](uint64_t, ByteSpan) { FAIL() << "released something"; };
  const absl::Status first = decoder.Feed(std::vector<uint8_t>(64), never);
  EXPECT_EQ(first.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(decoder.Feed(BytesOf(slice), never), first);
  EXPECT_EQ(decoder.Finish(), first);
}

TEST(SliceWalk, HoldsForTheLargestBlob) {
  SliceWalk walk(kEndless, {kEndless - 10, 5});
  uint64_t parents = 0;
  std::optional<SliceItem> last;
  while (const std::optional<SliceItem> item = walk.Next()) {
    parents += item->is_parent();
    last = item;
  }
  EXPECT_EQ(parents, 50u);
  EXPECT_EQ(last->offset_bytes + last->size_bytes, kEndless);
  EXPECT_EQ(SliceBytes(kEndless, {kEndless - 10, 5}), 50 * 64 + 16383u);
  // With its nodes it is longer than any number tells.
  EXPECT_EQ(SliceBytes(kEndless, {0, kEndless}), kEndless);
}

TEST(SliceEncoder, AsksAgainAfterAnErrorOfASource) {
  const Stored stored(3 * kGroupBytes + 1);
  const std::string expected = *stored.Encode({0, kEndless});
  SliceEncoder encoder(stored.digest, stored.blob.size(), {0, kEndless});
  // Every item fails at its first two times.
  int failures_left = 2;
  const auto status = [&] { return failures_left-- > 0 ? absl::UnavailableError("busy") : absl::OkStatus(); };
  const auto node = [&](GroupIndex first, int height) -> absl::StatusOr<ParentNode> {
    if (absl::Status error = status(); !error.ok()) return error;
    return stored.outboard.Node(first, height);
  };
  const auto group = [&](GroupIndex index, absl::Span<uint8_t> out) {
    std::copy_n(stored.blob.begin() + static_cast<long>(index.offset_bytes()), out.size(), out.begin());
    return status();
  };
  std::string slice;
  while (true) {
    const absl::StatusOr<bool> more = encoder.Next(node, group, &slice);
    if (more.ok() && !*more) break;
    if (more.ok()) {
      failures_left = 2;
    } else {
      ASSERT_EQ(more.status(), absl::UnavailableError("busy"));
    }
    ASSERT_EQ(slice, expected.substr(0, slice.size()));
  }
  EXPECT_EQ(slice, expected);
}

TEST(SliceEncoder, HandsOutNothingDamaged) {
  Stored stored(200000);
  stored.blob[150000] ^= 1;
  const absl::Status status = stored.Encode({140000, 20000}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("bytes [147456, 163840)"));
  EXPECT_TRUE(stored.Encode({0, 100000}).ok());
}

}  // namespace
}  // namespace coffer
