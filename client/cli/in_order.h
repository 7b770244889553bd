// SPDX-License-Identifier: Apache-2.0
//
// Runs jobs on several threads and hands their results over in the order in which the jobs were added:
//  1. Add() queues a job; while the window is full it first waits for the oldest one and emits its result;
//  2. Finish() emits the rest;
//  3. results are emitted on the thread that calls Add() and Finish(), so they may print without a lock.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace coffer::client::cli {

template <typename Result>
class InOrder {
 public:
  using Job = std::function<Result()>;

  // At most `window` jobs are waiting, running or done but not emitted.
  InOrder(int threads, size_t window, std::function<void(Result)> emit) : window_size_(window), emit_(std::move(emit)) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
  }
  ~InOrder() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    added_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;

  void Add(Job job) {
    if (window_.size() >= window_size_) EmitOldest();
    while (!window_.empty() && IsDone(*window_.front())) EmitOldest();
    auto slot = std::make_shared<Slot>();
    slot->job = std::move(job);
    window_.push_back(slot);
    {
      std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(slot));
    }
    added_.notify_one();
  }

  void Finish() {
    while (!window_.empty()) EmitOldest();
  }

 private:
  struct Slot {
    Job job;
    Result result;
    bool done = false;  // guarded by mutex_
  };

  bool IsDone(const Slot& slot) {
    std::lock_guard lock(mutex_);
    return slot.done;
  }

  void EmitOldest() {
    const std::shared_ptr<Slot> slot = std::move(window_.front());
    window_.pop_front();
    {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [&] { return slot->done; });
    }
    emit_(std::move(slot->result));
  }

  void Run() {
    while (true) {
      std::shared_ptr<Slot> slot;
      {
        std::unique_lock lock(mutex_);
        added_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        slot = std::move(waiting_.front());
        waiting_.pop_front();
      }
      slot->result = slot->job();
      slot->job = nullptr;
      {
        std::lock_guard lock(mutex_);
        slot->done = true;
      }
      done_.notify_one();
    }
  }

  const size_t window_size_;
  const std::function<void(Result)> emit_;
  std::deque<std::shared_ptr<Slot>> window_;  // of the thread that adds
  std::mutex mutex_;                          // guards what follows
  std::condition_variable added_;
  std::condition_variable done_;
  std::deque<std::shared_ptr<Slot>> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace coffer::client::cli
