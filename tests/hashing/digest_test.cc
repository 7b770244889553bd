// SPDX-License-Identifier: Apache-2.0
// Digests and chaining values as values and as text.
#include "hashing/digest.h"

#include <type_traits>

#include "absl/hash/hash_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace coffer {
namespace {

using ::testing::HasSubstr;

constexpr char kHex[] = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

TEST(Digest, IsZeroByDefault) { EXPECT_EQ(Digest().ToHex(), std::string(64, '0')); }

TEST(Digest, HexRoundTrips) {
  const absl::StatusOr<Digest> digest = Digest::FromHex(kHex);
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_EQ(digest->ToHex(), kHex);
  EXPECT_EQ(*Digest::FromBytes(digest->view()), *digest);
}

TEST(Digest, RefusesOtherLengthsNamingThem) {
  for (const std::string& hex : {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(5000, 'a')}) {
    const absl::Status status = Digest::FromHex(hex).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("64 lower-case hex digits"));
    EXPECT_THAT(status.message(), HasSubstr(std::to_string(hex.size())));
    EXPECT_LT(status.message().size(), 250u);
  }
  EXPECT_THAT(Digest::FromBytes("short").status().message(), HasSubstr("32 bytes, got 5"));
}

TEST(Digest, RefusesUpperCaseAndOtherDigitsNamingThePlace) {
  std::string upper = kHex;
  upper[1] = 'F';
  EXPECT_THAT(Digest::FromHex(upper).status().message(), HasSubstr("\"F\" at position 1"));
  std::string other = kHex;
  other[63] = 'g';
  EXPECT_THAT(Digest::FromHex(other).status().message(), HasSubstr("\"g\" at position 63"));
}

TEST(Digest, OrdersAsItsHexDoes) {
  const Digest low = *Digest::FromHex(std::string(62, '0') + "7f");
  const Digest high = *Digest::FromHex(std::string(62, '0') + "80");
  EXPECT_LT(low, high);
  EXPECT_NE(low, high);
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly({low, high, Digest()}));
}

TEST(ChainingValue, IsNoDigest) {
  EXPECT_FALSE((std::is_convertible_v<ChainingValue, Digest>));
  EXPECT_FALSE((std::is_constructible_v<Digest, ChainingValue>));
  EXPECT_FALSE((std::is_constructible_v<ChainingValue, Digest>));
  EXPECT_THAT(ChainingValue::FromHex("x").status().message(), HasSubstr("chaining value"));
  EXPECT_EQ(ChainingValue::FromHex(kHex)->ToHex(), kHex);
}

}  // namespace
}  // namespace coffer
