// SPDX-License-Identifier: Apache-2.0
#include "client/retry.h"

#include <algorithm>

#include "absl/random/random.h"

namespace coffer::client {

absl::Duration Backoff(const RetryPolicy& policy, int retry, double jitter) {
  absl::Duration pause = policy.first_backoff;
  for (int i = 0; i < retry && pause < policy.max_backoff; ++i) pause *= 2;
  pause = std::min(pause, policy.max_backoff);
  return pause / 2 + pause / 2 * jitter;
}

absl::Status CallWithRetries(const RetryPolicy& policy, const RetryHooks& hooks) {
  absl::BitGen random;
  for (int retry = 0;; ++retry) {
    absl::Status status = hooks.attempt();
    if (!absl::IsUnavailable(status) || retry >= policy.max_retries || !hooks.may_repeat()) return status;
    if (!hooks.pause(Backoff(policy, retry, absl::Uniform(random, 0.0, 1.0)))) return status;
  }
}

}  // namespace coffer::client
