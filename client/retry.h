// SPDX-License-Identifier: Apache-2.0
//
// When and how long after a failure a call is made again. Only UNAVAILABLE is repeated: it is the one status
// that says "nothing is wrong with the request, ask again". Whether repeating is safe is for the caller to say.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace coffer::client {

struct RetryPolicy {
  // Calls after the first. 4 of them, with the pauses below, bridge a restart of the server of about a second
  // and still tell a user within two seconds that there is none.
  int max_retries = 4;
  // Pause before the first retry; each further one doubles it.
  absl::Duration first_backoff = absl::Milliseconds(100);
  // No pause is longer.
  absl::Duration max_backoff = absl::Seconds(2);
};

// Pause before retry number `retry` (0 is the first). `jitter` in [0, 1) spreads clients that failed together
// over the upper half of the pause.
absl::Duration Backoff(const RetryPolicy& policy, int retry, double jitter);

// What a retried call needs from its surroundings; all references are used during the call only.
struct RetryHooks {
  // One try.
  absl::FunctionRef<absl::Status()> attempt;
  // Asked after a try failed with UNAVAILABLE: may it be made again? May do what that needs, such as rewinding.
  absl::FunctionRef<bool()> may_repeat;
  // Waits; false if the wait was cancelled or the deadline would pass, and then there is no further try.
  absl::FunctionRef<bool(absl::Duration)> pause;
};

// Returns the status of the last try.
absl::Status CallWithRetries(const RetryPolicy& policy, const RetryHooks& hooks);

}  // namespace coffer::client
