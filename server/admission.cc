// SPDX-License-Identifier: Apache-2.0
#include "server/admission.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace coffer {

Admission::Place::Place(Place&& other) noexcept
    : admission_(std::exchange(other.admission_, nullptr)), kind_(other.kind_) {}

Admission::Place& Admission::Place::operator=(Place&& other) noexcept {
  if (admission_ != nullptr) admission_->Leave(kind_);
  admission_ = std::exchange(other.admission_, nullptr);
  kind_ = other.kind_;
  return *this;
}

Admission::Place::~Place() {
  if (admission_ != nullptr) admission_->Leave(kind_);
}

absl::StatusOr<Admission::Place> Admission::Admit(Kind kind) {
  const std::lock_guard lock(mutex_);
  if (closed_) return absl::UnavailableError("the server is stopping: try again later or elsewhere");
  if (calls_ >= limits_.calls) {
    return absl::ResourceExhaustedError(
        absl::StrCat(calls_, " calls are running: at most ", limits_.calls, " are allowed; try again later"));
  }
  if (kind == Kind::kVerify && verifies_ >= limits_.verifies) {
    return absl::ResourceExhaustedError(absl::StrCat(verifies_, " verify calls are running: at most ", limits_.verifies,
                                                     " are allowed; try again later"));
  }
  ++calls_;
  if (kind == Kind::kVerify) ++verifies_;
  return Place(this, kind);
}

void Admission::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool Admission::WaitUntilIdle(absl::Time deadline) {
  std::unique_lock lock(mutex_);
  return left_.wait_until(lock, absl::ToChronoTime(deadline), [this] { return calls_ == 0; });
}

void Admission::Leave(Kind kind) {
  const std::lock_guard lock(mutex_);
  --calls_;
  if (kind == Kind::kVerify) --verifies_;
  if (calls_ == 0) left_.notify_all();
}

}  // namespace coffer
