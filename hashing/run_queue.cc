// SPDX-License-Identifier: Apache-2.0
// A window over the stream: pushed at the back, taken in order by whoever is free, popped at the front when
// done.
#include "hashing/run_queue.h"

#include <algorithm>

namespace coffer {

void Run::Hash() {
  if (complete()) {
    HashRun(TreeMode{}, bytes, first_group, &tree);
  } else {
    GroupValuesOfRun(TreeMode{}, bytes, first_group, tree.groups);
  }
}

void RunQueue::Push(Run* run) {
  absl::MutexLock lock(&mutex_);
  entries_.push_back({run});
}

bool RunQueue::HashOne() {
  Run* run;
  uint64_t number;
  {
    absl::MutexLock lock(&mutex_);
    if (taken_ == entries_.size()) return false;
    run = entries_[taken_].run;
    number = popped_ + taken_;
    ++taken_;
  }
  run->Hash();
  absl::MutexLock lock(&mutex_);
  entries_[number - popped_].done = true;
  const std::thread::id self = std::this_thread::get_id();
  if (std::find(threads_.begin(), threads_.end(), self) == threads_.end()) threads_.push_back(self);
  return true;
}

Run* RunQueue::PopDone() {
  absl::MutexLock lock(&mutex_);
  if (!FirstIsDone()) return nullptr;
  Run* const run = entries_.front().run;
  entries_.pop_front();
  --taken_;
  ++popped_;
  return run;
}

void RunQueue::AwaitFirst() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &RunQueue::FirstIsDone));
}

void RunQueue::Abandon() {
  absl::MutexLock lock(&mutex_);
  entries_.resize(taken_);
  mutex_.Await(absl::Condition(this, &RunQueue::NothingRuns));
}

bool RunQueue::NothingRuns() const {
  return std::all_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.done; });
}

int RunQueue::hashing_threads() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(threads_.size());
}

}  // namespace coffer
