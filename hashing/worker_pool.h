// SPDX-License-Identifier: Apache-2.0
// A bounded pool of threads that all uploads share for hashing.
#ifndef COFFER_HASHING_WORKER_POOL_H_
#define COFFER_HASHING_WORKER_POOL_H_

#include <cstddef>
#include <deque>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"

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
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !tasks_.empty(); }

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<absl::AnyInvocable<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> workers_;
};

}  // namespace coffer

#endif  // COFFER_HASHING_WORKER_POOL_H_
