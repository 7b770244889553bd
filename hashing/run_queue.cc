// SPDX-License-Identifier: Apache-2.0
// A window over the stream: pushed at the back, taken in order by whoever is free, popped at the front when
// done.
#include "hashing/run_queue.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "hashing/invariant.h"
#include "hashing/worker_pool.h"

namespace coffer {

void Run::Hash() {
  if (by_quads) {
    HashRun(TreeMode{}, bytes, first_group, &tree);
  } else {
    GroupValuesOfRun(TreeMode{}, bytes, first_group, tree.groups);
  }
}

bool RunQueue::Push(Run* run) {
  std::lock_guard lock(mutex_);
  run->hashed = false;
  RequireInvariant(pushed_ - popped_ < kMaxRuns, "a stream has at most kMaxRuns runs");
  ring_[pushed_++ % kMaxRuns] = run;
  if (helpers_ >= max_helpers_) return false;
  ++helpers_;
  return true;
}

void RunQueue::HelperRefused() {
  std::lock_guard lock(mutex_);
  --helpers_;
}

void RunQueue::Help() {
  for (int i = 0;; ++i) {
    Run* run;
    {
      std::lock_guard lock(mutex_);
      run = i < kRunsPerHelp ? Take() : nullptr;
      if (run == nullptr) {
        --helpers_;
        return;
      }
    }
    HashTaken(run);
  }
}

bool RunQueue::HashOne() {
  Run* run;
  {
    std::lock_guard lock(mutex_);
    run = Take();
  }
  if (run == nullptr) return false;
  HashTaken(run);
  return true;
}

Run* RunQueue::Take() { return taken_ == pushed_ ? nullptr : At(taken_++); }

void RunQueue::HashTaken(Run* run) {
  run->Hash();
  {
    std::lock_guard lock(mutex_);
    run->hashed = true;
    const std::thread::id self = std::this_thread::get_id();
    if (std::find(threads_.begin(), threads_.end(), self) == threads_.end()) threads_.push_back(self);
  }
  hashed_.notify_one();
}

Run* RunQueue::PopDone() {
  std::lock_guard lock(mutex_);
  if (!FirstIsDone()) return nullptr;
  return At(popped_++);
}

void RunQueue::AwaitFirst(const Run& run) {
  const absl::Time until = absl::Now() + kSpinTime;
  while (!run.hashed && absl::Now() < until) SpinOnce();
  std::unique_lock lock(mutex_);
  hashed_.wait(lock, [this] { return FirstIsDone(); });
}

void RunQueue::Abandon() {
  std::unique_lock lock(mutex_);
  pushed_ = taken_;
  hashed_.wait(lock, [this] { return NothingRuns(); });
}

bool RunQueue::NothingRuns() const {
  for (uint64_t i = popped_; i < taken_; ++i) {
    if (!At(i)->hashed) return false;
  }
  return true;
}

int RunQueue::hashing_threads() const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(threads_.size());
}

}  // namespace coffer
