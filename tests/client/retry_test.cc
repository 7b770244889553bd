// SPDX-License-Identifier: Apache-2.0
#include "client/retry.h"

#include <gtest/gtest.h>

#include <vector>

namespace coffer::client {
namespace {

TEST(Backoff, DoublesUpToTheLimit) {
  const RetryPolicy policy{
      .max_retries = 9, .first_backoff = absl::Milliseconds(100), .max_backoff = absl::Milliseconds(500)};
  EXPECT_EQ(Backoff(policy, 0, 0), absl::Milliseconds(50));
  EXPECT_EQ(Backoff(policy, 1, 0), absl::Milliseconds(100));
  EXPECT_EQ(Backoff(policy, 2, 0.5), absl::Milliseconds(300));
  EXPECT_EQ(Backoff(policy, 3, 0), absl::Milliseconds(250));
  EXPECT_EQ(Backoff(policy, 1000000, 0), absl::Milliseconds(250));
}

// Runs CallWithRetries without waiting. Returns how many tries there were.
int Tries(const absl::Status& failure, int fail_times, bool may_repeat, bool may_wait, absl::Status* status) {
  int tries = 0;
  *status = CallWithRetries(RetryPolicy{.max_retries = 3},
                            {.attempt = [&] { return ++tries <= fail_times ? failure : absl::OkStatus(); },
                             .may_repeat = [&] { return may_repeat; },
                             .pause = [&](absl::Duration) { return may_wait; }});
  return tries;
}

TEST(CallWithRetries, RepeatsUnavailableUntilItWorks) {
  absl::Status status;
  EXPECT_EQ(Tries(absl::UnavailableError(""), 2, true, true, &status), 3);
  EXPECT_TRUE(status.ok());
}

TEST(CallWithRetries, StopsAtTheLimitWithTheLastStatus) {
  absl::Status status;
  EXPECT_EQ(Tries(absl::UnavailableError("x"), 100, true, true, &status), 4);
  EXPECT_EQ(status, absl::UnavailableError("x"));
}

TEST(CallWithRetries, DoesNotRepeatOtherFailures) {
  absl::Status status;
  EXPECT_EQ(Tries(absl::DeadlineExceededError(""), 1, true, true, &status), 1);
  EXPECT_EQ(Tries(absl::ResourceExhaustedError(""), 1, true, true, &status), 1);
  EXPECT_EQ(Tries(absl::AbortedError(""), 1, true, true, &status), 1);
}

TEST(CallWithRetries, DoesNotRepeatWhatMustNotBe) {
  absl::Status status;
  EXPECT_EQ(Tries(absl::UnavailableError(""), 1, false, true, &status), 1);
  EXPECT_EQ(Tries(absl::UnavailableError(""), 1, true, false, &status), 1);
}

}  // namespace
}  // namespace coffer::client
