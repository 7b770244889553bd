// SPDX-License-Identifier: Apache-2.0
//
// The system's gRPC is not instrumented and the tests run with suppressions: this shows that a race in a reactor
// is reported all the same. Built for the thread sanitizer only.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace coffer {
namespace {

TEST(PlantedRace, IsReported) {
  const std::string command = std::string(
      "TSAN_OPTIONS=\"$TSAN_OPTIONS exitcode=66 ignore_noninstrumented_modules=1 suppressions=" COFFER_SUPPRESSIONS
      "\" " COFFER_PLANTED_RACE " 2>&1");
  FILE* const pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  char buffer[4096];
  for (size_t got; (got = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.append(buffer, got);
  const int status = ::pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 66) << status;
  EXPECT_THAT(output, ::testing::HasSubstr("WARNING: ThreadSanitizer: data race"));
  EXPECT_THAT(output,
              ::testing::ContainsRegex("SUMMARY: ThreadSanitizer: data race .*planted_race_main.cc.* in .*OnDone"));
}

}  // namespace
}  // namespace coffer
