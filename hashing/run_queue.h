// SPDX-License-Identifier: Apache-2.0
// The runs of one stream on their way from the thread that feeds it over the workers back to that thread, in
// order.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
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
  // Whether all of tree is wanted, which takes a run that RunTree fits; otherwise tree.groups, one for each
  // group.
  bool by_quads = false;
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

  // Adds `run` (borrowed until PopDone returns it) behind the others, at most kMaxRuns at a time. True if one
  // more helper is wanted: the caller then gets some thread to call Help, or calls HelperRefused.
  [[nodiscard]] bool Push(Run* run);

  // Hashes runs until there are none left, but not more than kRunsPerHelp, so that a pool stays fair to other
  // streams.
  void Help();
  void HelperRefused();

  static constexpr int kRunsPerHelp = 16;

  // Runs that are filled, hashed or waiting at the same time: enough to keep several workers busy while the
  // feeding thread gathers, few enough that a thousand uploads cannot take the memory.
  static constexpr size_t kMaxRuns = 16;

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
  Run* At(uint64_t number) const { return ring_[number % kMaxRuns]; }
  bool FirstIsDone() const { return popped_ < taken_ && At(popped_)->hashed; }
  bool NothingRuns() const;

  const int max_helpers_;
  // Guards all that follows; standard ones, as in WorkerPool.
  mutable std::mutex mutex_;
  std::condition_variable hashed_;
  // Asked for and not yet finished.
  int helpers_ = 0;
  // A ring: runs [popped_, pushed_) of the stream; those before taken_ are being hashed or done.
  std::array<Run*, kMaxRuns> ring_;
  uint64_t popped_ = 0;
  uint64_t taken_ = 0;
  uint64_t pushed_ = 0;
  // Bounded by the threads of the pool and the callers of the stream.
  std::vector<std::thread::id> threads_;
};

}  // namespace coffer
