// SPDX-License-Identifier: Apache-2.0
//
// Makes one thread of a test wait for another.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

namespace coffer::testing {

// Opened once. Copies are the same latch, so a handler that outlives the test's body may hold one.
class Latch {
 public:
  void Open() const {
    std::lock_guard lock(state_->mutex);
    state_->open = true;
    state_->opened.notify_all();
  }
  void Wait() const {
    std::unique_lock lock(state_->mutex);
    state_->opened.wait(lock, [this] { return state_->open; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable opened;
    bool open = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace coffer::testing
