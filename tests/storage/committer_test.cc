// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/committer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "storage/rocks/rows.h"
#include "tests/support/temporary_directory.h"

namespace coffer::rocks {
namespace {

class CommitterTest : public testing::Test {
 protected:
  std::optional<std::string> Row(const std::string& key) { return *ReadRow(*database_, database_->meta(), key); }

  const TemporaryDirectory directory_;
  std::unique_ptr<Database> database_ = *Database::Create(directory_ / "db", nullptr);
  const DiskSpace disk_space_{directory_.path(), [] { return uint64_t{0}; }, [] {}};
  Committer committer_{*database_, {}, [] { return uint64_t{1}; }, disk_space_};
};

// Counts that many callers take up and down over the batches that are built and written at the same time; every other
// operation fails after it changed them.
TEST_F(CommitterTest, OperationsThatFailLeaveNothingWhereverTheyAreInABatch) {
  constexpr int kThreads = 8;
  constexpr int kEach = 300;
  const auto count = [&](Batch& batch, const std::string& key) {
    const std::optional<std::string> value = *batch.Get(database_->meta(), key);
    if (value == "gone") ADD_FAILURE();
    const int before = value.has_value() ? std::stoi(*value) : 0;
    batch.Put(database_->meta(), key, absl::StrCat(before + 1));
    ++batch.totals.blobs;
  };
  std::vector<std::thread> threads;
  std::atomic<int> kept = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const bool fails = (i + t) % 2 == 0;
        const absl::Status status = committer_.Commit(
            i % 50 == 0 ? 5 << 20 : 100,
            [&](Batch& batch) {
              count(batch, "k1");
              if (fails) {
                batch.Delete(database_->meta(), "k1");
                batch.Put(database_->meta(), "k1", "gone");
                batch.Put(database_->meta(), absl::StrCat("never", t), "x");
                batch.PutContent(database_->gathered(), "never", {"x"});
                return absl::CancelledError();
              }
              count(batch, "k1");
              return absl::OkStatus();
            },
            t % 4 == 0 ? Lane::kBulk : Lane::kCallers);
        EXPECT_EQ(status.ok(), !fails) << status;
        if (status.ok()) ++kept;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Row("k1"), absl::StrCat(2 * kept));
  EXPECT_EQ(committer_.totals().blobs, 2u * kept);
  for (int t = 0; t < kThreads; ++t) EXPECT_FALSE(Row(absl::StrCat("never", t)).has_value());
  EXPECT_FALSE(ReadRow(*database_, database_->gathered(), "never")->has_value());
}

}  // namespace
}  // namespace coffer::rocks
