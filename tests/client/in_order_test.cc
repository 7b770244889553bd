// SPDX-License-Identifier: Apache-2.0
#include "client/cli/in_order.h"

#include <gtest/gtest.h>

#include <atomic>

#include "absl/time/clock.h"
#include "tests/client/latch.h"

namespace coffer::client::cli {
namespace {

TEST(InOrder, EmitsInTheOrderOfAdding) {
  std::vector<int> emitted;
  InOrder<int> runner(4, 50, [&](int value) { emitted.push_back(value); });
  for (int i = 0; i < 1000; ++i) {
    runner.Add([i] {
      if (i % 7 == 0) absl::SleepFor(absl::Microseconds(200));
      return i;
    });
  }
  runner.Finish();
  ASSERT_EQ(emitted.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(emitted[i], i);
}

TEST(InOrder, RunsAtTheSameTime) {
  // Each job waits for the other one.
  testing::Latch first, second;
  InOrder<int> runner(2, 10, [](int) {});
  runner.Add([&] {
    first.Open();
    second.Wait();
    return 0;
  });
  runner.Add([&] {
    second.Open();
    first.Wait();
    return 0;
  });
  runner.Finish();
}

TEST(InOrder, AddWaitsWhileTheWindowIsFull) {
  std::atomic<int> emitted{0};
  std::atomic<int> most{0};
  int added = 0;
  InOrder<int> runner(2, 5, [&](int) { ++emitted; });
  for (int i = 0; i < 100; ++i) {
    runner.Add([] { return 0; });
    ++added;
    most = std::max<int>(most, added - emitted);
  }
  runner.Finish();
  EXPECT_EQ(emitted, 100);
  EXPECT_LE(most, 5);
}

}  // namespace
}  // namespace coffer::client::cli
