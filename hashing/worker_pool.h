// SPDX-License-Identifier: Apache-2.0
// A bounded pool of threads that all uploads share for hashing.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"

namespace coffer {

// Thread-safe. Tasks start in the order in which they were accepted; they must not block on each other.
class WorkerPool {
 public:
  // Starts `threads` >= 1 workers. At most kQueuedTasksPerWorker tasks a worker wait; what finds the queue
  // full is better done by the thread that asks.
  explicit WorkerPool(int threads);

  // Runs what was accepted, then joins the workers.
  ~WorkerPool();

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Accepts `task` and returns true, or returns false, leaving `task` as it was, when the queue is full.
  bool TrySchedule(absl::AnyInvocable<void()>& task);

  int thread_count() const { return static_cast<int>(workers_.size()); }

  static constexpr size_t kQueuedTasksPerWorker = 64;

 private:
  void Run();

  // Guards stopping_ and tasks_. From the standard library: a thread sanitizer sees through it, which it does not
  // for a mutex in a library that was built without one.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::deque<absl::AnyInvocable<void()>> tasks_;
  std::vector<std::thread> workers_;
};

}  // namespace coffer
