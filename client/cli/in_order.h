// SPDX-License-Identifier: Apache-2.0
//
// Runs jobs on several threads and hands their results over in the order in which the jobs were added:
//  1. Add() queues a job; while the window is full it first waits for the oldest one and emits its result;
//  2. Finish() emits the rest;
//  3. results are emitted on the thread that calls Add() and Finish(), so they may print without a lock.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

namespace coffer::cli {

template <typename Result>
class InOrder {
 public:
  using Job = std::function<Result()>;

  // At most `window` jobs are waiting, running or done but not emitted.
  InOrder(int threads, size_t window, std::function<void(Result)> emit)
      : window_size_(window), emit_(std::move(emit)) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
  }
  ~InOrder() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    for (std::thread& thread : threads_) thread.join();
  }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;

  void Add(Job job) {
    if (window_.size() >= window_size_) EmitOldest();
    while (!window_.empty() && window_.front()->done.HasBeenNotified()) EmitOldest();
    auto slot = std::make_shared<Slot>();
    slot->job = std::move(job);
    window_.push_back(slot);
    absl::MutexLock lock(&mutex_);
    waiting_.push_back(std::move(slot));
  }

  void Finish() {
    while (!window_.empty()) EmitOldest();
  }

 private:
  struct Slot {
    Job job;
    Result result;
    absl::Notification done;
  };

  void EmitOldest() {
    const std::shared_ptr<Slot> slot = std::move(window_.front());
    window_.pop_front();
    slot->done.WaitForNotification();
    emit_(std::move(slot->result));
  }

  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !waiting_.empty(); }

  void Run() {
    while (true) {
      std::shared_ptr<Slot> slot;
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(this, &InOrder::HasWork));
        if (waiting_.empty()) return;
        slot = std::move(waiting_.front());
        waiting_.pop_front();
      }
      slot->result = slot->job();
      slot->job = nullptr;
      slot->done.Notify();
    }
  }

  const size_t window_size_;
  const std::function<void(Result)> emit_;
  std::deque<std::shared_ptr<Slot>> window_;  // of the thread that adds
  absl::Mutex mutex_;
  std::deque<std::shared_ptr<Slot>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace coffer::cli
