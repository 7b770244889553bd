// SPDX-License-Identifier: Apache-2.0
//
// A process that is killed at any moment leaves a store that shows what was acknowledged, and nothing half.
#include <gtest/gtest.h>

#include <cstdio>

#include "absl/strings/str_join.h"
#include "tests/faults/kill_run.h"
#include "tests/support/temporary_directory.h"

namespace coffer::faults {
namespace {

constexpr int kStores = 4;

class KillCycles : public testing::TestWithParam<int> {};

TEST_P(KillCycles, KeepWhatWasAcknowledgedAndNothingHalf) {
  CrashReport total;
  KillOptions options;
  options.threads = GetParam();
  options.program = KILL_CYCLES_PROGRAM;
  for (int store = 0; store < kStores && total.problems.empty(); ++store, ++options.seed) {
    const TemporaryDirectory directory(FastDirectory());
    total.Add(RunKills(directory / "data", options));
  }
  EXPECT_TRUE(total.problems.empty()) << absl::StrJoin(total.problems, "\n");
  EXPECT_GT(total.crashes, 0u);
  EXPECT_GT(total.acknowledged, total.crashes) << "the kills leave no time for work";
  std::printf("%d kills survived\n", static_cast<int>(total.crashes));
}

INSTANTIATE_TEST_SUITE_P(Threads, KillCycles, testing::Values(1, 4));

}  // namespace
}  // namespace coffer::faults
