// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/encoding.h"

#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "hashing/bytes.h"
#include "hashing/subtree.h"

namespace coffer::rocks {
namespace {

const Digest kDigest = HashBlob(BytesOf("content"));

// Runs `decode` over every way to damage `value`: a bit of each byte, every shorter length, one byte more.
template <typename Decode>
void ExpectNoDamageIsBelieved(const std::string& value, const Decode& decode) {
  ASSERT_TRUE(decode(value).ok());
  for (size_t i = 0; i < value.size(); ++i) {
    std::string damaged = value;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_TRUE(absl::IsDataLoss(decode(damaged).status())) << i;
    EXPECT_TRUE(absl::IsDataLoss(decode(value.substr(0, i)).status())) << i;
  }
}

Reference Sample() {
  Reference reference{"bucket", "inbox/1", kDigest, 7, {{"k", "v"}, {"empty", ""}}, absl::FromUnixMicros(1234567)};
  return reference;
}

TEST(ReferenceRow, IsReadBack) {
  const std::string key = ReferenceKey(5, "inbox/1");
  absl::StatusOr<Reference> decoded = DecodeReference(key, "bucket", EncodeReference(key, Sample()));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->name, "inbox/1");
  EXPECT_EQ(decoded->digest, kDigest);
  EXPECT_EQ(decoded->size_bytes, 7u);
  EXPECT_EQ(decoded->metadata, Sample().metadata);
  EXPECT_EQ(decoded->created, Sample().created);
}

TEST(ReferenceRow, NoDamageIsBelieved) {
  const std::string key = ReferenceKey(5, "inbox/1");
  ExpectNoDamageIsBelieved(EncodeReference(key, Sample()),
                           [&](const std::string& value) { return DecodeReference(key, "bucket", value); });
}

TEST(ReferenceRow, IsNotBelievedUnderAnotherKey) {
  const std::string value = EncodeReference(ReferenceKey(5, "inbox/1"), Sample());
  const absl::Status status = DecodeReference(ReferenceKey(5, "inbox/2"), "bucket", value).status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_TRUE(absl::StrContains(status.message(), "inbox/2")) << status;
}

TEST(RecordRow, NoDamageIsBelievedExceptInTheContentThatTheTreeProves) {
  const Record record{70000, Placement::kGathered, 42, 5, "inbox/1"};
  ExpectNoDamageIsBelieved(EncodeRecord(kDigest, record, ""),
                           [](const std::string& value) { return DecodeRecord(kDigest, value); });
  absl::StatusOr<RecordRow> decoded = DecodeRecord(kDigest, EncodeRecord(kDigest, record, "content"));
  ASSERT_TRUE(decoded.ok());
}

TEST(BucketAndCounterRows, NoDamageIsBelieved) {
  ExpectNoDamageIsBelieved(EncodeBucket("b", {9, absl::FromUnixMicros(1)}),
                           [](const std::string& value) { return DecodeBucket("b", value); });
  ExpectNoDamageIsBelieved(EncodeTotals("totals", {1, 2, 3, 4, 5}),
                           [](const std::string& value) { return DecodeTotals("totals", value); });
  ExpectNoDamageIsBelieved(EncodeText("n", "text"), [](const std::string& value) { return DecodeText("n", value); });
  ExpectNoDamageIsBelieved(EncodeNumber("n", 77), [](const std::string& value) { return DecodeNumber("n", value); });
  ExpectNoDamageIsBelieved(EncodeErased("n", {Placement::kIngested, 77}),
                           [](const std::string& value) { return DecodeErased("n", value); });
  ScrubState state;
  state.phase = ScrubState::Phase::kRows;
  state.position = "rkey";
  state.cycle_start = absl::FromUnixMicros(5);
  state.findings = 6;
  state.rate_bytes_per_second = 7;
  const std::string scrub_row = EncodeScrubState("scrub", state);
  ExpectNoDamageIsBelieved(scrub_row, [](const std::string& value) { return DecodeScrubState("scrub", value); });
  EXPECT_EQ(*DecodeScrubState("scrub", scrub_row), state);
  ExpectNoDamageIsBelieved(EncodeLease("n", 77), [](const std::string& value) { return DecodeLease("n", value); });
}

// The bytes on disk, which FORMAT.md describes. If one of these changes, the format has changed.
TEST(GoldenRows, AreWhatTheFormatSays) {
  const std::string reference_key = ReferenceKey(5, "inbox/1");
  EXPECT_EQ(absl::BytesToHexString(reference_key), "0000000000000005696e626f782f31");
  EXPECT_EQ(absl::BytesToHexString(EncodeReference(reference_key, Sample())),
            "013fba5250be9ac259c56e7250c526bc83bacb4be825f2799d3d59e5b4878dd74e070000000000000087d612000000000002000500"
            "656d707479000001006b010076e69b031c3dc57670");
  EXPECT_EQ(absl::BytesToHexString(EncodeRecord(kDigest, {70000, Placement::kGathered, 42, 5, "inbox/1"}, "")),
            "010170110100000000002a0000000000000005000000000000000700696e626f782f31271d9c50548a2aa4");
  EXPECT_EQ(absl::BytesToHexString(EncodeBucket("b", {9, absl::FromUnixMicros(1)})),
            "0109000000000000000100000000000000652daa4ad616d53e");
  EXPECT_EQ(absl::BytesToHexString(EncodeTotals("totals", {1, 2, 3, 4, 5})),
            "0101000000000000000200000000000000030000000000000004000000000000000500000000000000a1c2d485544abc5d");
  EXPECT_EQ(absl::BytesToHexString(EncodeNumber("n", 77)), "014d000000000000008dd4a39f0045f935");
  EXPECT_EQ(absl::BytesToHexString(EncodeText("store_id", "0123")), "010400303132331fda82fb003ae33d");
  EXPECT_EQ(absl::BytesToHexString(EncodeErased("n", {Placement::kIngested, 77})),
            "01024d000000000000004978d0927a82afd9");
  EXPECT_EQ(absl::BytesToHexString(PieceKey(7, {258, 2, 3})), "0000000000000007000001020203");
  EXPECT_EQ(absl::BytesToHexString(EncodeRecord(kDigest, {70000, Placement::kGathered, 42, 5, "inbox/1", true}, "")),
            "018170110100000000002a0000000000000005000000000000000700696e626f782f3112a6b2db1fec08d1");
  EXPECT_EQ(absl::BytesToHexString(EncodeScrubState("scrub", ScrubState())),
            "01000000" + std::string(2 * 66, '0') + "d1f618cadaffdcce");
  EXPECT_EQ(absl::BytesToHexString(LeaseKey(kDigest, 5)), kDigest.ToHex() + "0000000000000005");
  EXPECT_EQ(absl::BytesToHexString(EncodeLease("n", 77)), "014d0000000000000004168c792b7c97b4");
  EXPECT_EQ(absl::BytesToHexString(LinkKey(kDigest, 5, "n")), kDigest.ToHex() + "00000000000000056e");
}

TEST(PieceKeys, SortAsPieceIdsDo) {
  const PieceId ids[] = {{0, 0, 0},   {0, 0, 15},  {0, 1, 0},   {1, 0, 0},
                         {255, 1, 0}, {255, 2, 0}, {256, 0, 0}, {70000, 0, 0}};
  for (size_t i = 1; i < std::size(ids); ++i) EXPECT_LT(PieceKey(7, ids[i - 1]), PieceKey(7, ids[i]));
  EXPECT_LT(PieceKey(7, {70000, 4, 0}), PieceKey(8, {0, 0, 0}));
}

}  // namespace
}  // namespace coffer::rocks
