// SPDX-License-Identifier: Apache-2.0
#include "client/call_watch.h"

#include <grpcpp/client_context.h>

#include <algorithm>

namespace coffer {

CallWatch::CallWatch(absl::Duration idle_timeout) : idle_timeout_(idle_timeout), thread_([this] { Run(); }) {}

CallWatch::~CallWatch() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

CallWatch::Guard::Guard(CallWatch& watch, grpc::ClientContext& context) : watch_(watch), context_(context) {
  absl::MutexLock lock(&watch_.mutex_);
  watch_.calls_.insert(this);
  // A call that starts cancelled: gRPC remembers it until the call is made.
  if (watch_.cancelled_) context_.TryCancel();
}

CallWatch::Guard::~Guard() {
  absl::MutexLock lock(&watch_.mutex_);
  watch_.calls_.erase(this);
}

void CallWatch::CancelAll() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  for (Guard* call : calls_) call->context_.TryCancel();
}

bool CallWatch::cancelled() const {
  absl::MutexLock lock(&mutex_);
  return cancelled_;
}

bool CallWatch::Sleep(absl::Duration duration) {
  absl::MutexLock lock(&mutex_);
  return !mutex_.AwaitWithTimeout(absl::Condition(&cancelled_), duration);
}

void CallWatch::Run() {
  // Often enough that a call ends at most a quarter later than it should.
  const absl::Duration period = std::clamp(idle_timeout_ / 4, absl::Milliseconds(5), absl::Seconds(1));
  absl::MutexLock lock(&mutex_);
  while (!mutex_.AwaitWithTimeout(absl::Condition(&stopping_), period)) {
    const int64_t limit_ns = absl::GetCurrentTimeNanos() - absl::ToInt64Nanoseconds(idle_timeout_);
    for (Guard* call : calls_) {
      const int64_t since_ns = call->waiting_since_ns_.load(std::memory_order_relaxed);
      if (since_ns == 0 || since_ns > limit_ns) continue;
      call->expired_.store(true, std::memory_order_relaxed);
      call->context_.TryCancel();
    }
  }
}

}  // namespace coffer
