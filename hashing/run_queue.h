// SPDX-License-Identifier: Apache-2.0
// The runs of one stream on their way from the thread that feeds it over the workers back to that thread, in
// order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

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

  // Set, under the queue's lock, when the tree is there; may be looked at without the lock.
  std::atomic<bool> hashed{false};

  bool complete() const { return bytes.size() == kRunBytes; }
  size_t groups() const { return (bytes.size() + kGroupBytes - 1) / kGroupBytes; }
  void Hash();
};

// Thread-safe. Workers may hold on to it after the stream has gone.
class RunQueue {
 public:
  // At most `max_helpers` threads beside the stream's own are asked for at a time.
  explicit RunQueue(int max_helpers) : max_helpers_(max_helpers) {}

  // Adds `run` (borrowed until PopDone returns it) behind the others. True if one more helper is wanted: the
  // caller then gets some thread to call Help, or calls HelperRefused.
  [[nodiscard]] bool Push(Run* run);

  // Hashes runs until there are none left, but not more than kRunsPerHelp, so that a pool stays fair to other
  // streams.
  void Help();
  void HelperRefused();

  static constexpr int kRunsPerHelp = 16;

  // Hashes the first run that nobody has taken yet; false if there is none.
  bool HashOne();

  // Removes the first run if it is done; nullptr otherwise.
  Run* PopDone();

  // Waits until the first run, `run`, which must have been taken, is done.
  void AwaitFirst(const Run& run);

  // Drops what nobody has taken and waits for the rest.
  void Abandon();

  // Different threads that have hashed.
  int hashing_threads() const;

 private:
  // Takes the first run that nobody has; nullptr if there is none. Under the lock, as FirstIsDone and
  // NothingRuns.
  Run* Take();
  void HashTaken(Run* run);
  bool FirstIsDone() const { return !entries_.empty() && entries_.front()->hashed; }
  bool NothingRuns() const;

  const int max_helpers_;
  // Guards all that follows; standard ones, as in WorkerPool.
  mutable std::mutex mutex_;
  std::condition_variable hashed_;
  // Asked for and not yet finished.
  int helpers_ = 0;
  // In the order of the stream; the first taken_ are being hashed or done.
  std::deque<Run*> entries_;
  size_t taken_ = 0;
  // Bounded by the threads of the pool and the callers of the stream.
  std::vector<std::thread::id> threads_;
};

}  // namespace coffer
