// SPDX-License-Identifier: Apache-2.0
// The runs of one stream on their way from the thread that feeds it over the workers back to that thread, in
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "hashing/bytes.h"
#include "hashing/chunk.h"
#include "hashing/keyed_subtree.h"

namespace coffer {

// Up to kRunGroups groups that do not cross a multiple of kRunGroups, and what hashing them gives.
struct Run {
  ByteSpan bytes;
  GroupIndex first_group;
  // All values of a complete run; otherwise only tree.groups, one for each group.
  RunTree tree;
  // Room for kRunBytes, if the run owns its bytes; made at its first use and kept.
  std::unique_ptr<uint8_t[]> buffer;

  bool complete() const { return bytes.size() == kRunBytes; }
  size_t groups() const { return (bytes.size() + kGroupBytes - 1) / kGroupBytes; }
  void Hash();
};

// Thread-safe. Workers may hold on to it after the stream has gone.
class RunQueue {
 public:
  // Adds `run` (borrowed until PopDone returns it) behind the others.
  void Push(Run* run) ABSL_LOCKS_EXCLUDED(mutex_);

  // Hashes the first run that nobody has taken yet; false if there is none.
  bool HashOne() ABSL_LOCKS_EXCLUDED(mutex_);

  // Removes the first run if it is done; nullptr otherwise.
  Run* PopDone() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until the first run, which must have been taken, is done.
  void AwaitFirst() ABSL_LOCKS_EXCLUDED(mutex_);

  // Drops what nobody has taken and waits for the rest.
  void Abandon() ABSL_LOCKS_EXCLUDED(mutex_);

  // Different threads that have hashed.
  int hashing_threads() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    Run* run;
    bool done = false;
  };
  bool FirstIsDone() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !entries_.empty() && entries_.front().done;
  }
  bool NothingRuns() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  // In the order of the stream; the first taken_ are being hashed or done.
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  // Runs popped since the beginning, so that a worker finds its entry again.
  uint64_t popped_ ABSL_GUARDED_BY(mutex_) = 0;
  // Bounded by the threads of the pool and the callers of the stream.
  std::vector<std::thread::id> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coffer
