// SPDX-License-Identifier: Apache-2.0
#include "server/verify_reactor.h"

#include <utility>

#include "absl/status/statusor.h"
#include "server/message_buffer.h"
#include "server/proto_conversion.h"

namespace coffer {
namespace {

void ProgressToWire(const VerifyProgress& progress, v1::VerifyProgress& out) {
  out.set_blobs_checked(progress.blobs_checked);
  out.set_bytes_checked(progress.bytes_checked);
  out.set_findings(progress.findings);
}

}  // namespace

VerifyReactor::VerifyReactor(Backend& backend, const grpc::ByteBuffer& request) : backend_(backend), request_(request) {
  ShowOrder();
  absl::StatusOr<Admission::Place> place = backend_.admission.Admit(Admission::Kind::kVerify);
  if (!place.ok()) {
    Finish(ToGrpcStatus(place.status()));
    return;
  }
  place_ = *std::move(place);
  backend_.pool.Run([this] { Walk(); });
}

void VerifyReactor::Walk() {
  v1::VerifyRequest request;
  absl::Status status = ParseBuffer(request_, request);
  if (status.ok()) status = Verify(request);
  if (IsServerFailure(status)) backend_.report_failure("Verify", status);
  // Before the client can know of the end: its next call may want the place.
  place_ = {};
  std::unique_lock lock(mutex_);
  if (status.ok()) {
    v1::VerifyResponse last;
    ProgressToWire(progress_, *last.mutable_progress());
    last.mutable_progress()->set_done(true);
    queue_.push_back(ToBuffer(last));
  }
  has_ended_ = true;
  result_ = status;
  Proceed(std::move(lock));
}

absl::Status VerifyReactor::Verify(const v1::VerifyRequest& request) {
  next_progress_ = absl::Now() + kProgressInterval;
  VerifyObserver observer;
  observer.progress = [this](const VerifyProgress& progress) { return OnProgress(progress); };
  observer.finding = [this](const VerifyFinding& finding) {
    backend_.report_failure("Verify", absl::DataLossError(finding.problem));
    v1::VerifyResponse message;
    v1::VerifyFinding& out = *message.mutable_finding();
    if (finding.digest.has_value()) out.set_digest(DigestToWire(*finding.digest));
    out.set_offset_bytes(finding.range.offset_bytes);
    out.set_length_bytes(finding.range.length_bytes);
    out.set_problem(finding.problem);
    Push(message);
  };
  const ByteRange range{request.offset_bytes(), request.length_bytes()};
  if (request.scope_case() != v1::VerifyRequest::kBlob && (range.offset_bytes != 0 || range.length_bytes != 0)) {
    return absl::InvalidArgumentError("offset_bytes and length_bytes go with a blob only");
  }
  switch (request.scope_case()) {
    case v1::VerifyRequest::kBlob: {
      absl::StatusOr<BlobSelector> selector = SelectorFromWire(request.blob());
      if (!selector.ok()) return selector.status();
      return backend_.store.VerifyBlob(*selector, range, observer);
    }
    case v1::VerifyRequest::kBucket:
      return backend_.store.VerifyBucket(request.bucket(), observer);
    case v1::VerifyRequest::kAll:
      if (request.all()) return backend_.store.VerifyAll(observer);
      break;
    case v1::VerifyRequest::SCOPE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("nothing to verify is selected: give a blob, a bucket, or all = true");
}

bool VerifyReactor::OnProgress(const VerifyProgress& progress) {
  progress_ = progress;
  const absl::Time now = absl::Now();
  if (now >= next_progress_) {
    next_progress_ = now + kProgressInterval;
    v1::VerifyResponse message;
    ProgressToWire(progress, *message.mutable_progress());
    Push(message);
  }
  const std::lock_guard lock(mutex_);
  return !is_cancelled_;
}

void VerifyReactor::Push(const v1::VerifyResponse& message) {
  std::unique_lock lock(mutex_);
  has_room_.wait(lock, [this] { return queue_.size() < kMaxQueued || is_cancelled_; });
  if (is_cancelled_) return;
  queue_.push_back(ToBuffer(message));
  Proceed(std::move(lock));
}

void VerifyReactor::OnWriteDone(bool ok) {
  std::unique_lock lock(mutex_);
  is_writing_ = false;
  if (!ok) is_cancelled_ = true;
  has_room_.notify_all();
  Proceed(std::move(lock));
}

void VerifyReactor::OnCancel() {
  const std::lock_guard lock(mutex_);
  is_cancelled_ = true;
  has_room_.notify_all();
}

void VerifyReactor::OnDone() {
  ShowOrder();
  delete this;
}

void VerifyReactor::ShowOrder() { std::unique_lock(mutex_).unlock(); }

void VerifyReactor::Proceed(std::unique_lock<std::mutex> lock) {
  if (is_writing_) return;
  if (is_cancelled_) queue_.clear();
  if (!queue_.empty()) {
    is_writing_ = true;
    in_flight_ = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    StartWrite(&in_flight_);
  } else if (has_ended_) {
    const grpc::Status status =
        is_cancelled_ ? grpc::Status(grpc::StatusCode::CANCELLED, "cancelled by the client") : ToGrpcStatus(result_);
    lock.unlock();
    Finish(status);
  }
}

}  // namespace coffer
