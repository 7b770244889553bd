// SPDX-License-Identifier: Apache-2.0
#include "client/call_watch.h"

#include <grpcpp/client_context.h>

#include <algorithm>

namespace coffer::client {

CallWatch::CallWatch(absl::Duration idle_timeout) : idle_timeout_(idle_timeout), thread_([this] { Run(); }) {}

CallWatch::~CallWatch() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

CallWatch::Guard::Guard(CallWatch& watch, grpc::ClientContext& context) : watch_(watch), context_(context) {
  std::lock_guard lock(watch_.mutex_);
  watch_.calls_.insert(this);
  // A call that starts cancelled: gRPC remembers it until the call is made.
  if (watch_.cancelled_) context_.TryCancel();
}

CallWatch::Guard::~Guard() {
  std::lock_guard lock(watch_.mutex_);
  watch_.calls_.erase(this);
}

void CallWatch::CancelAll() {
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (Guard* call : calls_) call->context_.TryCancel();
  }
  changed_.notify_all();
}

bool CallWatch::cancelled() const {
  std::lock_guard lock(mutex_);
  return cancelled_;
}

bool CallWatch::Sleep(absl::Duration duration) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, absl::ToChronoNanoseconds(duration), [this] { return cancelled_; });
}

void CallWatch::Run() {
  // Often enough that a call ends at most a quarter later than it should.
  const absl::Duration period = std::clamp(idle_timeout_ / 4, absl::Milliseconds(5), absl::Seconds(1));
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, absl::ToChronoNanoseconds(period), [this] { return stopping_; })) {
    const int64_t limit_ns = absl::GetCurrentTimeNanos() - absl::ToInt64Nanoseconds(idle_timeout_);
    for (Guard* call : calls_) {
      const int64_t since_ns = call->waiting_since_ns_.load(std::memory_order_relaxed);
      if (since_ns == 0 || since_ns > limit_ns) continue;
      call->expired_.store(true, std::memory_order_relaxed);
      call->context_.TryCancel();
    }
  }
}

}  // namespace coffer::client
