// SPDX-License-Identifier: Apache-2.0
//
// What may be reclaimed and what must not. The stores have no grace period, so a collection takes everything that is
// garbage.
#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/layout.h"
#include "tests/contract/contract_suite.h"

namespace coffer {
namespace {

// One for each way to store content: inline, in one row, gathered, in files of its own.
const size_t kSizes[] = {500, 11000, 2 * kSegmentBytes + 7, 9 * kSegmentBytes};

}  // namespace

TEST_P(StoreContract, CollectErasesWhatNothingNames) {
  for (const size_t size : kSizes) {
    const std::string content = RandomBytes(size, 1);
    const absl::StatusOr<PutResult> put = Put("b", "going", content);
    ASSERT_TRUE(put.ok()) << put.status();
    ASSERT_TRUE(Put("b", "staying", RandomBytes(size, 2)).ok());
    ASSERT_TRUE(store_->Delete("b", {"going"}).ok());
    EXPECT_TRUE(Get(ByDigest(put->digest)).ok()) << "it goes when it is collected";
    const absl::StatusOr<Erasure> would = store_->Collect(true);
    ASSERT_TRUE(would.ok()) << would.status();
    EXPECT_EQ(would->blobs, 1u);
    EXPECT_EQ(would->content_bytes, size);
    EXPECT_TRUE(Get(ByDigest(put->digest)).ok()) << "a dry run erases nothing";
    const absl::StatusOr<Erasure> erasure = store_->Collect(false);
    ASSERT_TRUE(erasure.ok()) << erasure.status();
    EXPECT_EQ(erasure->blobs, 1u);
    EXPECT_EQ(erasure->content_bytes, size);
    EXPECT_TRUE(absl::IsNotFound(Get(ByDigest(put->digest)).status()));
    EXPECT_EQ(store_->FindMissing({put->digest})->size(), 1u);
    EXPECT_TRUE(Get("b", "staying").value_or("?") == RandomBytes(size, 2));
    EXPECT_EQ(store_->Collect(false)->blobs, 0u);

    const absl::StatusOr<PutResult> again = Put("b", "again", content);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_FALSE(again->deduplicated);
    EXPECT_TRUE(Get("b", "again").value_or("?") == content);
    ASSERT_TRUE(store_->Delete("b", {"again", "staying"}).ok());
    EXPECT_EQ(store_->Collect(false)->blobs, 2u);
    EXPECT_EQ(store_->GetStatus().totals.blobs, 0u);
    EXPECT_EQ(store_->GetStatus().totals.content_bytes, 0u);
  }
}

TEST_P(StoreContract, CollectKeepsWhatHasAnotherName) {
  const std::string content = RandomBytes(11000, 1);
  const Digest digest = Put("a", "first", content)->digest;
  ASSERT_TRUE(Put("b", "second", content).ok());
  ASSERT_TRUE(store_->Bind("c", "third", digest, {}).ok());
  // In the order in which they came, so that the back-link in the record goes first.
  ASSERT_TRUE(store_->Delete("a", {"first"}).ok());
  EXPECT_EQ(store_->Collect(false)->blobs, 0u);
  ASSERT_TRUE(store_->DeleteBucket("b").ok());
  EXPECT_EQ(store_->Collect(false)->blobs, 0u);
  EXPECT_TRUE(Get("c", "third").value_or("?") == content);
  ASSERT_TRUE(Put("c", "third", "overwritten").ok());
  EXPECT_EQ(store_->Collect(false)->blobs, 1u);
  EXPECT_TRUE(absl::IsNotFound(Get(ByDigest(digest)).status()));
}

TEST_P(StoreContract, ADeletedNameThatComesBackInTimeKeepsItsContent) {
  const std::string content = RandomBytes(11000, 1);
  const Digest digest = Put("a", "name", content)->digest;
  ASSERT_TRUE(store_->Delete("a", {"name"}).ok());
  ASSERT_TRUE(store_->Bind("a", "bound", digest, {}).ok());
  EXPECT_EQ(store_->Collect(false)->blobs, 0u);
  ASSERT_TRUE(store_->Delete("a", {"bound"}).ok());
  EXPECT_TRUE(Put("a", "name", content)->deduplicated);
  EXPECT_EQ(store_->Collect(false)->blobs, 0u);
  EXPECT_TRUE(Get("a", "name").value_or("?") == content);
}

TEST_P(StoreContract, AnOpenReaderKeepsWhatIsErased) {
  for (const size_t size : kSizes) {
    const std::string content = RandomBytes(size, 3);
    ASSERT_TRUE(Put("b", "read", content).ok());
    absl::StatusOr<std::unique_ptr<OpenRead>> read = store_->Open(Named("b", "read"), {});
    ASSERT_TRUE(read.ok());
    std::string got = (*read)->Next(400).value_or("?");
    ASSERT_TRUE(store_->Delete("b", {"read"}).ok());
    ASSERT_EQ(store_->Collect(false)->blobs, 1u);
    // The same again, which must not bring the reader another one's pieces.
    ASSERT_TRUE(Put("b", "other", content).ok());
    absl::StatusOr<std::string> rest = ReadAll(**read);
    ASSERT_TRUE(rest.ok()) << rest.status();
    EXPECT_TRUE(got + *rest == content) << size;
    read->reset();
    ASSERT_TRUE(store_->Collect(false).ok());
    EXPECT_TRUE(Get("b", "other").value_or("?") == content);
    ASSERT_TRUE(store_->Delete("b", {"other"}).ok());
    ASSERT_TRUE(store_->Collect(false).ok());
  }
}

TEST_P(StoreContract, PutDeleteReadAndCollectSideBySideLoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 40;
  std::atomic<bool> done = false;
  std::thread collector([&] {
    while (!done) {
      EXPECT_TRUE(store_->Collect(false).ok());
      // What goes meanwhile is not taken for damage.
      const absl::StatusOr<std::vector<VerifyFinding>> findings = store_->VerifyAll();
      EXPECT_TRUE(findings.ok() && findings->empty()) << findings.status();
    }
  });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const std::string name = absl::StrCat("t", thread);
      for (int round = 0; round < kRounds; ++round) {
        // All work with the same few contents, so that one's garbage is another's duplicate.
        const std::string content = RandomBytes(kSizes[round % 3], round % 6);
        absl::StatusOr<PutResult> put = Put("b", name, content);
        ASSERT_TRUE(put.ok()) << put.status();
        EXPECT_TRUE(Get("b", name).value_or("?") == content);
        if (round % 3 == 0) {
          ASSERT_TRUE(store_->Delete("b", {name}).ok());
        }
        // Somebody else's: whole or not there.
        const absl::StatusOr<std::string> other = Get(ByDigest(put->digest));
        if (other.ok()) {
          EXPECT_TRUE(*other == content);
        } else {
          EXPECT_TRUE(absl::IsNotFound(other.status())) << other.status();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  collector.join();
  ASSERT_TRUE(store_->DeleteBucket("b").ok());
  ASSERT_TRUE(store_->Collect(false).ok());
  EXPECT_EQ(store_->GetStatus().totals.blobs, 0u);
}

}  // namespace coffer
