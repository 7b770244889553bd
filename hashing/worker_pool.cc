// SPDX-License-Identifier: Apache-2.0
// Workers take tasks from one queue until the pool stops and the queue is empty.
#include "hashing/worker_pool.h"

#include <utility>

#include "absl/time/clock.h"
#include "hashing/invariant.h"

namespace coffer {

WorkerPool::WorkerPool(int threads) {
  RequireInvariant(threads >= 1, "a worker pool has at least one thread");
  workers_.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) workers_.emplace_back([this] { Run(); });
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    ++waiting_;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

bool WorkerPool::TrySchedule(absl::AnyInvocable<void()>& task) {
  {
    std::lock_guard lock(mutex_);
    if (tasks_.size() >= kQueuedTasksPerWorker * workers_.size()) return false;
    tasks_.push_back(std::move(task));
    ++waiting_;
  }
  changed_.notify_one();
  return true;
}

void WorkerPool::SpinForTask() const {
  const absl::Time until = absl::Now() + kSpinTime;
  while (waiting_ == 0 && absl::Now() < until) SpinOnce();
}

void WorkerPool::Run() {
  while (true) {
    absl::AnyInvocable<void()> task;
    SpinForTask();
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      --waiting_;
    }
    task();
  }
}

}  // namespace coffer
