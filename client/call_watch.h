// SPDX-License-Identifier: Apache-2.0
//
// Watches the calls that a client has under way: ends those for which the server does nothing for too long, and
// all of them when the client is cancelled.
//
// A stream has no useful total deadline (a terabyte may take hours), so it has an idle one: the longest time
// that one single wait for the server may take. Time that the caller's own source or sink takes does not count.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"

namespace grpc {
class ClientContext;
}

namespace coffer::client {

// Thread-safe. Must outlive its Guards.
class CallWatch {
 public:
  // Runs one thread until it is destroyed.
  explicit CallWatch(absl::Duration idle_timeout);
  ~CallWatch();

  // One call under way; `context` must outlive it. Wait() is for one thread at a time.
  class Guard {
   public:
    Guard(CallWatch& watch, grpc::ClientContext& context);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    // Runs `wait`, a blocking step of the call, with the idle timeout on it.
    template <typename F>
    auto Wait(F wait) {
      waiting_since_ns_.store(absl::GetCurrentTimeNanos(), std::memory_order_relaxed);
      auto result = wait();
      waiting_since_ns_.store(0, std::memory_order_relaxed);
      return result;
    }
    // The call was ended because the server did nothing for the idle timeout.
    bool expired() const { return expired_.load(std::memory_order_relaxed); }

   private:
    friend class CallWatch;
    CallWatch& watch_;
    grpc::ClientContext& context_;
    std::atomic<int64_t> waiting_since_ns_{0};
    std::atomic<bool> expired_{false};
  };

  // Ends every call under way and every later one with CANCELLED.
  void CancelAll();
  bool cancelled() const;

  // Waits for `duration`; false, and at once, if the client is cancelled.
  bool Sleep(absl::Duration duration);

  absl::Duration idle_timeout() const { return idle_timeout_; }

 private:
  void Run();

  const absl::Duration idle_timeout_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  absl::flat_hash_set<Guard*> calls_;
  bool cancelled_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace coffer::client
