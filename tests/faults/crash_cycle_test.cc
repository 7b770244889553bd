// SPDX-License-Identifier: Apache-2.0
//
// A store that loses its power at any moment shows afterwards what it has acknowledged, and nothing half.
#include <gtest/gtest.h>

#include <cstdio>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/faults/crash_run.h"
#include "tests/support/temporary_directory.h"

namespace coffer::faults {

// For the names of cases in listings.
void PrintTo(const CrashOptions& options, std::ostream* out);
void PrintTo(const CrashOptions& options, std::ostream* out) { *out << "seed " << options.seed; }

namespace {

// Stores of 8 crashes each.
#ifdef COFFER_SANITIZED
constexpr int kStoresOfACase = 2;
#else
constexpr int kStoresOfACase = 8;
#endif

class CrashCycles : public testing::TestWithParam<CrashOptions> {};

TEST_P(CrashCycles, KeepWhatWasAcknowledgedAndNothingHalf) {
  CrashReport total;
  CrashOptions options = GetParam();
  for (int store = 0; store < kStoresOfACase && total.problems.empty(); ++store, ++options.seed) {
    const TemporaryDirectory directory(FastDirectory());
    total.Add(RunCrashes(directory / "data", options));
  }
  EXPECT_TRUE(total.problems.empty()) << absl::StrJoin(total.problems, "\n");
  EXPECT_GT(total.acknowledged, total.crashes) << "the crashes leave no time for work";
  std::printf("%d crashes survived\n", static_cast<int>(total.crashes));
}

std::string CaseName(const testing::TestParamInfo<CrashOptions>& info) {
  return absl::StrCat(info.param.threads, "Threads", info.param.seed);
}

INSTANTIATE_TEST_SUITE_P(Alone, CrashCycles,
                         testing::Values(CrashOptions{.seed = 1000}, CrashOptions{.seed = 2000},
                                         CrashOptions{.seed = 3000}, CrashOptions{.seed = 4000}),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Together, CrashCycles,
                         testing::Values(CrashOptions{.seed = 5000, .threads = 4, .operations = 30},
                                         CrashOptions{.seed = 6000, .threads = 4, .operations = 30},
                                         CrashOptions{.seed = 7000, .threads = 4, .operations = 30}),
                         CaseName);

}  // namespace
}  // namespace coffer::faults
