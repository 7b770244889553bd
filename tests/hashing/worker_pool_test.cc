// SPDX-License-Identifier: Apache-2.0
// The pool alone: what it accepts, what it refuses, and that it ends only when all is done.
#include "hashing/worker_pool.h"

#include <atomic>

#include "gtest/gtest.h"
#include "tests/support/latch.h"

namespace coffer {
namespace {

TEST(WorkerPool, RunsAllThatItAcceptedBeforeItEnds) {
  for (int threads : {1, 2, 16}) {
    std::atomic<int> runs{0};
    int accepted = 0;
    {
      WorkerPool pool(threads);
      for (int i = 0; i < 1000; ++i) {
        absl::AnyInvocable<void()> task = [&runs] { ++runs; };
        accepted += pool.TrySchedule(task);
      }
    }
    EXPECT_EQ(runs, accepted) << threads;
    EXPECT_GT(accepted, 0);
  }
}

TEST(WorkerPool, RefusesWhatItsQueueDoesNotHoldAndLeavesTheTaskAsItWas) {
  const testing::Latch started;
  const testing::Latch release;
  int runs = 0;
  WorkerPool pool(1);
  absl::AnyInvocable<void()> blocker = [started, release] {
    started.Open();
    release.Wait();
  };
  ASSERT_TRUE(pool.TrySchedule(blocker));
  started.Wait();
  for (size_t i = 0; i < WorkerPool::kQueuedTasksPerWorker; ++i) {
    absl::AnyInvocable<void()> task = [] {};
    ASSERT_TRUE(pool.TrySchedule(task)) << i;
  }
  absl::AnyInvocable<void()> one_more = [&runs] { ++runs; };
  EXPECT_FALSE(pool.TrySchedule(one_more));
  // Nobody is idle either.
  EXPECT_FALSE(pool.TryHandOver(one_more));
  one_more();
  EXPECT_EQ(runs, 1);
  release.Open();
}

TEST(WorkerPool, HandsOutTheBuffersThatCameBack) {
  WorkerPool pool(1);
  std::unique_ptr<uint8_t[]> buffer = pool.TakeBuffer();
  uint8_t* const place = buffer.get();
  pool.GiveBack(std::move(buffer));
  EXPECT_EQ(pool.TakeBuffer().get(), place);
}

TEST(WorkerPoolDeathTest, WantsAThread) {
  for (int threads : {0, -1}) EXPECT_DEATH(WorkerPool pool(threads), "a worker pool has at least one thread");
}

}  // namespace
}  // namespace coffer
