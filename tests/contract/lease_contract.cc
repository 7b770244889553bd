// SPDX-License-Identifier: Apache-2.0
//
// What a lease keeps, and for how long. The stores have no grace period, so a collection takes everything that is
// garbage and not leased.
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "storage/layout.h"
#include "tests/contract/contract_suite.h"

namespace coffer {
namespace {

// One for each way to store content.
const size_t kSizes[] = {1000, 11000, 2 * kSegmentBytes + 7, 9 * kSegmentBytes};

// Longer than any test takes; and the shortest there is.
constexpr absl::Duration kLong = absl::Hours(1);
constexpr absl::Duration kShort = absl::Seconds(1);

}  // namespace

TEST_P(StoreContract, ALeaseKeepsContentWhoseLastNameGoes) {
  for (const size_t size : kSizes) {
    const std::string content = RandomBytes(size, 1);
    const Digest digest = Put("b", "name", content)->digest;
    const absl::StatusOr<std::vector<Digest>> missing = store_->Lease("b", {digest}, kLong);
    ASSERT_TRUE(missing.ok()) << missing.status();
    EXPECT_TRUE(missing->empty());
    ASSERT_TRUE(store_->Delete("b", {"name"}).ok());
    // Again and again: what was looked at once is still leased.
    for (int i = 0; i < 3; ++i) EXPECT_EQ(store_->Collect(false)->blobs, 0u);
    EXPECT_TRUE(Get(ByDigest(digest)).value_or("?") == content);
    EXPECT_TRUE(store_->Bind("b", "bound", digest, {}).ok());
    EXPECT_TRUE(Get("b", "bound").value_or("?") == content);
    ASSERT_TRUE(store_->Delete("b", {"bound"}).ok());
    EXPECT_EQ(store_->Collect(false)->blobs, 0u);
  }
}

TEST_P(StoreContract, ALeaseSavesContentThatIsGarbageAlready) {
  const Digest digest = Put("b", "name", RandomBytes(11000, 1))->digest;
  ASSERT_TRUE(store_->Delete("b", {"name"}).ok());
  ASSERT_TRUE(store_->Lease("b", {digest}, kLong).ok());
  EXPECT_EQ(store_->Collect(true)->blobs, 0u);
  EXPECT_EQ(store_->Collect(false)->blobs, 0u);
  EXPECT_TRUE(Get(ByDigest(digest)).ok());
}

TEST_P(StoreContract, ContentGoesWhenItsLastLeaseHasEnded) {
  std::vector<Digest> going;
  std::vector<Digest> staying;
  for (const size_t size : kSizes) {
    going.push_back(Put("b", "going", RandomBytes(size, 2))->digest);
    staying.push_back(Put("b", "staying", RandomBytes(size, 3))->digest);
    const Digest named = Put("b", absl::StrCat("named-", size), RandomBytes(size, 4))->digest;
    ASSERT_TRUE(store_->Lease("b", {going.back(), named}, kShort).ok());
    // Of two leases of one bucket the longer counts, in either order.
    ASSERT_TRUE(store_->Lease("c", {going.back(), staying.back()}, kShort).ok());
    ASSERT_TRUE(store_->Lease("b", {staying.back()}, kLong).ok());
    ASSERT_TRUE(store_->Lease("b", {staying.back()}, kShort).ok());
    ASSERT_TRUE(store_->Delete("b", {"going", "staying"}).ok());
  }
  absl::SleepFor(kShort + absl::Milliseconds(100));
  EXPECT_EQ(store_->Collect(true)->blobs, std::size(kSizes));
  EXPECT_EQ(store_->Collect(false)->blobs, std::size(kSizes));
  for (const Digest& digest : going) EXPECT_TRUE(absl::IsNotFound(Get(ByDigest(digest)).status()));
  for (const Digest& digest : staying) EXPECT_TRUE(Get(ByDigest(digest)).ok());
  for (const size_t size : kSizes) {
    EXPECT_TRUE(Get("b", absl::StrCat("named-", size)).ok()) << "it has a name";
    ASSERT_TRUE(store_->Delete("b", {absl::StrCat("named-", size)}).ok());
  }
  EXPECT_EQ(store_->Collect(false)->blobs, std::size(kSizes)) << "their lease has ended";
}

TEST_P(StoreContract, ALeaseTellsWhatIsMissing) {
  const Digest stored = Put("b", "name", "stored")->digest;
  const Digest absent = DigestOf("absent");
  const absl::StatusOr<std::vector<Digest>> missing = store_->Lease("other", {absent, stored, absent}, kLong);
  ASSERT_TRUE(missing.ok()) << missing.status();
  EXPECT_EQ(*missing, std::vector<Digest>{absent});
  // What came too late for the lease is not leased.
  ASSERT_TRUE(Put("b", "late", "absent").ok());
  ASSERT_TRUE(store_->Delete("b", {"late"}).ok());
  EXPECT_EQ(store_->Collect(false)->blobs, 1u);
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Lease("b", {stored}, absl::ZeroDuration()).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Lease("b", {stored}, absl::Hours(24 * 7 + 1)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Lease("b/c", {stored}, kLong).status()));
}

TEST_P(StoreContract, DeletingABucketEndsItsLeasesAndNoOthers) {
  const Digest alone = Put("names", "alone", RandomBytes(11000, 1))->digest;
  const Digest shared = Put("names", "shared", RandomBytes(11000, 2))->digest;
  ASSERT_TRUE(store_->Lease("going", {alone, shared}, kLong).ok());
  ASSERT_TRUE(store_->Lease("staying", {shared}, kLong).ok());
  ASSERT_TRUE(store_->DeleteBucket("names").ok());
  EXPECT_EQ(store_->Collect(false)->blobs, 0u);
  EXPECT_TRUE(store_->DeleteBucket("going").value_or(false)) << "a lease makes its bucket";
  EXPECT_EQ(store_->Collect(false)->blobs, 1u);
  EXPECT_TRUE(absl::IsNotFound(Get(ByDigest(alone)).status()));
  EXPECT_TRUE(Get(ByDigest(shared)).ok());
}

}  // namespace coffer
