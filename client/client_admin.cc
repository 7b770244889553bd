// SPDX-License-Identifier: Apache-2.0
//
// Client's calls that an operator makes: collecting and scrubbing.
#include "client/client.h"
#include "client/connection.h"

namespace coffer::client {
namespace {

v1::ScrubRequest::Action ActionToWire(ScrubAction action) {
  switch (action) {
    case ScrubAction::kStatus:
      return v1::ScrubRequest::ACTION_STATUS;
    case ScrubAction::kStart:
      return v1::ScrubRequest::ACTION_START;
    case ScrubAction::kPause:
      return v1::ScrubRequest::ACTION_PAUSE;
    case ScrubAction::kSetRate:
      return v1::ScrubRequest::ACTION_SET_RATE;
  }
  return v1::ScrubRequest::ACTION_UNSPECIFIED;
}

}  // namespace

absl::StatusOr<CollectResult> Client::Collect(bool dry_run) {
  v1::CollectRequest request;
  request.set_dry_run(dry_run);
  v1::CollectResponse response;
  const absl::Status status = connection_->Unary(
      [&](grpc::ClientContext* context) { return connection_->admin().Collect(context, request, &response); });
  if (!status.ok()) return status;
  return CollectResult{response.blobs(), response.content_bytes()};
}

absl::StatusOr<ScrubStatus> Client::Scrub(ScrubAction action, uint64_t rate_bytes_per_second) {
  v1::ScrubRequest request;
  request.set_action(ActionToWire(action));
  request.set_rate_bytes_per_second(rate_bytes_per_second);
  v1::ScrubResponse response;
  const absl::Status status = connection_->Unary(
      [&](grpc::ClientContext* context) { return connection_->admin().Scrub(context, request, &response); });
  if (!status.ok()) return status;
  ScrubStatus result;
  result.running = response.running();
  result.rate_bytes_per_second = response.rate_bytes_per_second();
  result.cycles_completed = response.cycles_completed();
  result.blobs_checked = response.blobs_checked();
  result.bytes_checked = response.bytes_checked();
  result.rows_checked = response.rows_checked();
  result.findings = response.findings();
  result.quarantined_blobs = response.quarantined_blobs();
  result.last_failure = response.last_failure();
  if (response.has_cycle_start()) result.cycle_start = TimeOfAnswer(response.cycle_start());
  if (response.has_last_completed_start()) {
    result.last_completed_start = TimeOfAnswer(response.last_completed_start());
    result.age_seconds = response.age_seconds();
  }
  return result;
}

}  // namespace coffer::client
