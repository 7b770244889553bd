// SPDX-License-Identifier: Apache-2.0
#include "server/scrub_control.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/proto_conversion.h"

namespace coffer {
namespace {

absl::Status Act(Scrubber& scrubber, const v1::ScrubRequest& request) {
  switch (request.action()) {
    case v1::ScrubRequest::ACTION_STATUS:
      return absl::OkStatus();
    case v1::ScrubRequest::ACTION_START:
      return scrubber.Resume();
    case v1::ScrubRequest::ACTION_PAUSE:
      return scrubber.Pause();
    case v1::ScrubRequest::ACTION_SET_RATE:
      return scrubber.SetRate(request.rate_bytes_per_second());
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("action is ", request.action(), ": status, start, pause and set rate (1 to 4) are allowed"));
  }
}

}  // namespace

absl::StatusOr<v1::ScrubResponse> ControlScrubber(BlobStore& store, const v1::ScrubRequest& request) {
  if (absl::Status status = Act(store.scrubber(), request); !status.ok()) return status;
  absl::StatusOr<ScrubStatus> status = store.scrubber().status();
  if (!status.ok()) return status.status();
  absl::StatusOr<uint64_t> quarantined = store.CountQuarantined();
  if (!quarantined.ok()) return quarantined.status();
  const ScrubState& state = status->state;
  v1::ScrubResponse response;
  response.set_running(!state.is_paused);
  response.set_rate_bytes_per_second(status->rate_bytes_per_second);
  response.set_blobs_checked(state.blobs_checked);
  response.set_bytes_checked(state.bytes_checked);
  response.set_rows_checked(state.rows_checked);
  response.set_findings(state.findings);
  response.set_cycles_completed(state.cycles_completed);
  response.set_quarantined_blobs(*quarantined);
  response.set_last_failure(std::string(status->last_failure.message()));
  if (state.phase != ScrubState::Phase::kBetweenCycles) *response.mutable_cycle_start() = TimeToWire(state.cycle_start);
  if (state.cycles_completed > 0) {
    *response.mutable_last_completed_start() = TimeToWire(state.last_completed_start);
    const int64_t age_seconds = absl::ToInt64Seconds(absl::Now() - state.last_completed_start);
    response.set_age_seconds(static_cast<uint64_t>(std::max<int64_t>(0, age_seconds)));
  }
  return response;
}

}  // namespace coffer
