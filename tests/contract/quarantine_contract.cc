// SPDX-License-Identifier: Apache-2.0
//
// What becomes of content that failed a check, and how it is healed; and that the scrubber finds nothing where there is
// nothing.
#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "storage/layout.h"
#include "tests/contract/contract_suite.h"

namespace coffer {
namespace {

// In one row, gathered, in files of its own. What stands in a record is looked at again by the engine, which finds it
// sound here.
const size_t kSizes[] = {11000, 2 * kSegmentBytes + 7, 9 * kSegmentBytes};

}  // namespace

TEST_P(StoreContract, QuarantinedContentCountsAsMissingAndAPutHealsIt) {
  for (const size_t size : kSizes) {
    const std::string content = RandomBytes(size, 1);
    const Digest digest = Put("b", "first", content)->digest;
    ASSERT_TRUE(store_->Bind("b", "second", digest, {}).ok());
    const EngineTotals before = store_->GetStatus().totals;
    const absl::StatusOr<Quarantining> done = store_->Quarantine(digest);
    ASSERT_TRUE(done.ok()) << done.status();
    ASSERT_EQ(*done, Quarantining::kQuarantined);

    EXPECT_EQ(store_->FindMissing({digest})->size(), 1u);
    EXPECT_EQ(store_->Lease("b", {digest}, absl::Hours(1))->size(), 1u);
    EXPECT_TRUE(absl::IsNotFound(store_->Stat(ByDigest(digest)).status()));
    EXPECT_TRUE(absl::IsNotFound(store_->Bind("b", "third", digest, {}).status()));
    for (const BlobSelector& blob : {Named("b", "first"), ByDigest(digest)}) {
      const absl::Status status = Get(blob).status();
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_TRUE(absl::StrContains(status.message(), digest.ToHex())) << status;
      EXPECT_TRUE(absl::StrContains(status.message(), "a test says so")) << status;
      EXPECT_TRUE(absl::IsDataLoss(store_->GetBatch({blob})[0].status()));
    }
    EXPECT_TRUE(store_->Resolve("b", "second").ok());
    EXPECT_EQ(store_->Collect(false)->blobs, 0u) << "nothing of it is erased";
    EXPECT_EQ(store_->GetStatus().totals.references, before.references);

    const absl::StatusOr<PutResult> again = Put("b", "third", content);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_FALSE(again->deduplicated);
    for (const char* name : {"first", "second", "third"}) EXPECT_TRUE(Get("b", name).value_or("?") == content) << name;
    EXPECT_TRUE(store_->FindMissing({digest})->empty());
    EXPECT_TRUE(Put("b", "third", content)->deduplicated);
    EXPECT_EQ(store_->GetStatus().totals.blobs, before.blobs);
    EXPECT_EQ(store_->GetStatus().totals.content_bytes, before.content_bytes);
    EXPECT_TRUE(store_->VerifyAll()->empty());
    // The back-links are still right: it goes with the last name, and not before.
    ASSERT_TRUE(store_->Delete("b", {"first", "third"}).ok());
    EXPECT_EQ(store_->Collect(false)->blobs, 0u);
    EXPECT_TRUE(Get("b", "second").value_or("?") == content);
    ASSERT_TRUE(store_->Delete("b", {"second"}).ok());
    EXPECT_EQ(store_->Collect(false)->blobs, 1u);
  }
}

TEST_P(StoreContract, ABatchHealsToo) {
  const std::string content = RandomBytes(11000, 1);
  const Digest digest = Put("b", "name", content)->digest;
  ASSERT_TRUE(store_->Quarantine(digest).ok());
  BatchItem item;
  item.options.bucket = "b";
  item.options.name = "other";
  item.content = content;
  // Twice in one batch: only the first brings content.
  const std::vector<absl::StatusOr<PutResult>> put = store_->PutBatch({item, item});
  ASSERT_TRUE(put[0].ok() && put[1].ok()) << put[0].status() << put[1].status();
  EXPECT_FALSE(put[0]->deduplicated);
  EXPECT_TRUE(put[1]->deduplicated);
  EXPECT_TRUE(Get("b", "name").value_or("?") == content);
}

TEST_P(StoreContract, OnlyWhatWasFoundDamagedIsQuarantined) {
  const std::string content = RandomBytes(11000, 1);
  const Digest digest = Put("b", "name", content)->digest;
  EXPECT_EQ(store_->Quarantine(digest, uint64_t{1} << 40).value_or(Quarantining::kQuarantined), Quarantining::kGone);
  EXPECT_TRUE(Get("b", "name").value_or("?") == content);
}

TEST_P(StoreContract, QuarantinedContentWithoutANameIsGarbageAsAnyOther) {
  const Digest digest = Put("b", "name", RandomBytes(11000, 1))->digest;
  ASSERT_TRUE(store_->Quarantine(digest).ok());
  ASSERT_TRUE(store_->Delete("b", {"name"}).ok());
  EXPECT_EQ(store_->Collect(false)->blobs, 1u);
  EXPECT_TRUE(absl::IsNotFound(Get(ByDigest(digest)).status()));
  EXPECT_FALSE(Put("b", "name", RandomBytes(11000, 1))->deduplicated);
}

TEST_P(StoreContract, AnOpenReaderReadsOnWhileItsContentIsHealed) {
  for (const size_t size : kSizes) {
    const std::string content = RandomBytes(size, 3);
    const Digest digest = Put("b", "read", content)->digest;
    absl::StatusOr<std::unique_ptr<OpenRead>> read = store_->Open(Named("b", "read"), {});
    ASSERT_TRUE(read.ok());
    std::string got = (*read)->Next(500).value_or("?");
    ASSERT_TRUE(store_->Quarantine(digest).ok());
    ASSERT_TRUE(Put("b", "other", content).ok());
    ASSERT_TRUE(store_->Collect(false).ok());
    absl::StatusOr<std::string> rest = ReadAll(**read);
    ASSERT_TRUE(rest.ok()) << rest.status();
    EXPECT_TRUE(got + *rest == content) << size;
    read->reset();
    ASSERT_TRUE(store_->Collect(false).ok());
    EXPECT_TRUE(Get("b", "read").value_or("?") == content);
  }
}

TEST_P(StoreContract, ScrubCountsWhatItChecksAndFindsNothing) {
  uint64_t bytes = 0;
  for (const size_t size : {size_t{0}, size_t{100}, size_t{11000}, size_t{50000}, 2 * kSegmentBytes + 7}) {
    ASSERT_TRUE(Put("b", absl::StrCat(size), RandomBytes(size, size)).ok());
    bytes += size;
  }
  ASSERT_TRUE(Put("c", "again", RandomBytes(100, 100)).ok());
  const absl::StatusOr<ScrubStatus> status = store_->Scrub();
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->state.blobs_checked, 5u);
  EXPECT_EQ(status->state.bytes_checked, bytes);
  EXPECT_EQ(status->state.findings, 0u);
  EXPECT_GE(status->state.cycles_completed, 1u);
  EXPECT_EQ(status->rate_bytes_per_second, 0u);
  EXPECT_GT(status->state.last_completed_start, absl::UnixEpoch());
}

TEST_P(StoreContract, ScrubFindsNothingInWhatChangesUnderIt) {
  constexpr int kThreads = 3;
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; !done; ++round) {
        const std::string name = absl::StrCat(thread, "-", round % 20);
        const size_t size = round % 7 == 0 ? kSizes[1] : round % 2 == 0 ? 1000 : 11000;
        ASSERT_TRUE(Put(absl::StrCat("b", round % 3), name, RandomBytes(size, round % 6)).ok());
        if (round % 3 == 0) {
          ASSERT_TRUE(store_->Delete(absl::StrCat("b", thread % 3), {name}).ok());
        }
        if (round % 50 == 49) {
          ASSERT_TRUE(store_->DeleteBucket("b1").ok());
        }
        if (round % 5 == 0) {
          ASSERT_TRUE(store_->Collect(false).ok());
        }
      }
    });
  }
  const absl::Time end = absl::Now() + absl::Milliseconds(1500);
  while (absl::Now() < end) {
    const absl::StatusOr<ScrubStatus> status = store_->Scrub();
    ASSERT_TRUE(status.ok()) << status.status();
    EXPECT_EQ(status->state.findings, 0u);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->Scrub()->state.findings, 0u);
  EXPECT_TRUE(store_->VerifyAll()->empty());
}

}  // namespace coffer
