// SPDX-License-Identifier: Apache-2.0
//
// Between ingesting content and publishing its record the database has one without the other; so it has between
// dropping files of erased content and deleting the note that says so. A checkpoint, which takes the list of files
// first and the log later, must not fall in between: it would have records without content, or content that nothing
// knows of.
#pragma once

#include <condition_variable>
#include <mutex>

namespace coffer::rocks {

// A shared lock for those who publish and an exclusive one for a checkpoint. Other than with std::shared_mutex, who
// waits for exclusive use is not overtaken for ever by those who share. Thread-safe.
class PublishGate {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, [this] { return shared_ == 0 && !is_exclusive_; });
    --waiting_;
    is_exclusive_ = true;
  }
  void unlock() {
    {
      std::lock_guard lock(mutex_);
      is_exclusive_ = false;
    }
    changed_.notify_all();
  }
  void lock_shared() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ == 0 && !is_exclusive_; });
    ++shared_;
  }
  void unlock_shared() {
    {
      std::lock_guard lock(mutex_);
      --shared_;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  int waiting_ = 0;
  int shared_ = 0;
  bool is_exclusive_ = false;
};

}  // namespace coffer::rocks
