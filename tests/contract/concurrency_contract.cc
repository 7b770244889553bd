// SPDX-License-Identifier: Apache-2.0
//
// The part of the suite about what happens at the same time.
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "storage/layout.h"
#include "tests/contract/contract_suite.h"

namespace coffer {

TEST_P(StoreContract, AnOpenReadIsWholeThroughDeletesAndOverwrites) {
  const std::string content = RandomBytes(12582912, 9);
  ASSERT_TRUE(Put("mail", "read", content).ok());
  absl::StatusOr<std::unique_ptr<OpenRead>> read = store_->Open(Named("mail", "read"), {});
  ASSERT_TRUE(read.ok());
  std::string got = *(*read)->Next(1000);
  ASSERT_TRUE(Put("mail", "read", "overwritten").ok());
  ASSERT_TRUE(store_->Delete("mail", {"read"}).ok());
  ASSERT_TRUE(store_->DeleteBucket("mail").ok());
  absl::StatusOr<std::string> rest = ReadAll(**read);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_TRUE(got + *rest == content);
}

TEST_P(StoreContract, SavesReadsAndDeletesRaceSafely) {
  // The workload of a mail server's own contract: ten threads save, read and delete one name; a reader sees a whole
  // value or none.
  const std::string large = RandomBytes(12582912, 10);
  const std::string medium = RandomBytes(11000, 11);
  std::vector<std::thread> threads;
  std::atomic<int> whole = 0;
  for (int t = 0; t < 10; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        switch ((t + i) % 4) {
          case 0:
            EXPECT_TRUE(Put("mail", "contended", large).ok());
            break;
          case 1:
            EXPECT_TRUE(Put("mail", "contended", medium).ok());
            break;
          case 2:
            EXPECT_TRUE(store_->Delete("mail", {"contended"}).ok());
            break;
          default: {
            absl::StatusOr<std::string> got = Get("mail", "contended");
            if (got.ok()) {
              EXPECT_TRUE(*got == large || *got == medium);
              ++whole;
            } else {
              EXPECT_TRUE(absl::IsNotFound(got.status())) << got.status();
            }
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Put("mail", "contended", medium).ok());
  EXPECT_TRUE(Get("mail", "contended").value_or("") == medium);
  EXPECT_EQ(store_->GetStatus().totals.blobs, 2u);
  EXPECT_EQ(store_->GetStatus().totals.references, 1u);
  EXPECT_TRUE(store_->VerifyAll()->empty());
}

TEST_P(StoreContract, ConcurrentPutsOfOneContentKeepOneCopy) {
  for (const size_t size : {size_t{5000}, 3 * kSegmentBytes, 10 * kSegmentBytes}) {
    const std::string content = RandomBytes(size, size);
    std::atomic<int> fresh = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        absl::StatusOr<PutResult> put = Put("race", absl::StrCat(size, "-", t), content);
        ASSERT_TRUE(put.ok()) << put.status();
        if (!put->deduplicated) ++fresh;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(fresh, 1) << size;
    for (int t = 0; t < 8; ++t) EXPECT_TRUE(Get("race", absl::StrCat(size, "-", t)).value_or("") == content);
  }
  EXPECT_EQ(store_->GetStatus().totals.blobs, 3u);
  EXPECT_EQ(store_->GetStatus().staging_bytes, 0u);
}

TEST_P(StoreContract, ReadersClosedUnreadLeakNothing) {
  ASSERT_TRUE(Put("mail", "unread", RandomBytes(2 * kSegmentBytes, 12)).ok());
  for (int i = 0; i < 256; ++i) {
    absl::StatusOr<std::unique_ptr<OpenRead>> read = store_->Open(Named("mail", "unread"), {});
    ASSERT_TRUE(read.ok()) << i << read.status();
    if (i % 2 == 0) {
      ASSERT_TRUE((*read)->Next(10).ok());
    }
  }
  EXPECT_TRUE(Get("mail", "unread").ok());
}

}  // namespace coffer
