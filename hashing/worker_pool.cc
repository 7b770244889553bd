// SPDX-License-Identifier: Apache-2.0
// Workers take tasks from one queue until the pool stops and the queue is empty.
#include "hashing/worker_pool.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "hashing/invariant.h"

namespace coffer {

WorkerPool::WorkerPool(int threads)
    : workers_per_stream_(
          std::clamp(static_cast<int>(std::thread::hardware_concurrency()) - 1, 1, std::max(threads, 1))) {
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
  bool wake;
  {
    std::lock_guard lock(mutex_);
    if (tasks_.size() >= kQueuedTasksPerWorker * workers_.size()) return false;
    tasks_.push_back(std::move(task));
    ++waiting_;
    // A spinning worker looks at the queue under the lock before it sleeps, so it cannot miss this task.
    wake = tasks_.size() > spinning_;
  }
  if (wake) changed_.notify_one();
  return true;
}

bool WorkerPool::TryHandOver(absl::AnyInvocable<void()>& task) {
  std::lock_guard lock(mutex_);
  if (tasks_.size() >= spinning_) return false;
  tasks_.push_back(std::move(task));
  ++waiting_;
  return true;
}

void WorkerPool::SpinForTask() const {
  const absl::Time until = absl::Now() + kSpinTime;
  while (waiting_ == 0 && absl::Now() < until) SpinOnce();
}

void WorkerPool::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (tasks_.empty() && !stopping_) {
      ++spinning_;
      lock.unlock();
      SpinForTask();
      lock.lock();
      --spinning_;
    }
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    absl::AnyInvocable<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    --waiting_;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

std::unique_ptr<uint8_t[]> WorkerPool::TakeBuffer() {
  std::lock_guard lock(mutex_);
  if (kept_buffers_.empty()) return std::unique_ptr<uint8_t[]>(new uint8_t[kBufferBytes]);
  std::unique_ptr<uint8_t[]> buffer = std::move(kept_buffers_.back());
  kept_buffers_.pop_back();
  return buffer;
}

void WorkerPool::GiveBack(std::unique_ptr<uint8_t[]> buffer) {
  std::lock_guard lock(mutex_);
  if (kept_buffers_.size() < kMaxKeptBuffers) kept_buffers_.push_back(std::move(buffer));
}

}  // namespace coffer
