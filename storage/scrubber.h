// SPDX-License-Identifier: Apache-2.0
//
// Checks every stored byte on the disk, cycle after cycle, while the store serves:
//
//   1. content, in pages of digest order, each read forward as it lies on the disk: every byte is hashed against the
//      stored tree, and the tree against the digest;
//   2. whatever fails is looked at again alone, pinned and as it is stored by then, because it may have been deleted or
//      put anew while it was read. What fails again is quarantined and reported;
//   3. then references, records and back-links against each other, both ways; what contradicts is looked at again by
//   the
//      engine in a commit;
//   4. after the last row the cycle is complete, and the next one begins when kRest has passed since its start.
//
// How far it is, is stored at the end of a page, at most every kCursorInterval. Damage that a reader meets comes here
// as well, by Suspect: one place decides what is quarantined.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "storage/engine.h"
#include "storage/scrub.h"
#include "storage/verifier.h"

namespace coffer {

struct ScrubStatus {
  ScrubState state;
  // In force; 0: unlimited.
  uint64_t rate_bytes_per_second = 0;
  // Why the last step failed; it is tried again.
  absl::Status last_failure;
};

// Thread-safe.
class Scrubber {
 public:
  // Unless a rate is set it is such that a cycle fits into this with a fifth to spare...
  static constexpr absl::Duration kCycle = absl::Hours(30 * 24);
  // ... but not below this: a small store is done within minutes.
  static constexpr uint64_t kMinRateBytesPerSecond = uint64_t{1} << 20;
  // From the start of a cycle to that of the next, at least: a small store needs no disk that never rests.
  static constexpr absl::Duration kRest = absl::Hours(24);
  // A crash repeats as much, and an idle store is written to no more often.
  static constexpr absl::Duration kCursorInterval = absl::Seconds(10);

  struct Options {
    // Hears of each finding; called on the thread that found it. May be empty.
    std::function<void(const VerifyFinding&)> report;
    ScanLimits page;
    // Replaced in tests.
    std::function<absl::Time()> now = absl::Now;
  };

  // `engine` is borrowed. Nothing runs by itself before Start.
  Scrubber(Engine& engine, Options options) : engine_(engine), options_(std::move(options)) {}
  // Stops where it is.
  ~Scrubber();

  // Starts the thread that scrubs.
  void Start();

  // Runs a cycle, or the rest of the one under way, in the calling thread; waits for another one that does. Also when
  // paused. UNAVAILABLE, and what the engine returns.
  absl::Status RunCycle();

  // Ends a pause; if no cycle is under way begins the next at once. UNAVAILABLE, RESOURCE_EXHAUSTED: it is not stored.
  absl::Status Resume();
  absl::Status Pause();
  // 0: unlimited.
  absl::Status SetRate(uint64_t bytes_per_second);

  // Someone read damage: the thread looks at the blob soon. More than kMaxSuspects at a time are forgotten: the next
  // cycle finds them.
  void Suspect(const Digest& digest);

  // Looks at a blob on the disk now, in the calling thread, and quarantines and reports it if it is damaged.
  // UNAVAILABLE, RESOURCE_EXHAUSTED.
  absl::Status Examine(const Digest& digest);

  // DATA_LOSS and UNAVAILABLE if the stored state cannot be read.
  absl::StatusOr<ScrubStatus> status();

  static constexpr size_t kMaxSuspects = 1024;

 private:
  struct SmallBatch;

  void Run();
  // Whether there is a step to take now.
  bool IsDue() const;
  absl::Status Step();
  absl::Status ContentStep(const std::string& position);
  absl::Status CheckBlob(ScannedBlob& blob, SmallBatch& batch);
  absl::Status CheckBatch(SmallBatch& batch);
  absl::Status RowStep(const std::string& position);
  absl::Status Load();
  // Changes the state under mutex_, and stores it, if `force` or the last time is long ago.
  absl::Status Update(bool force, const std::function<void(ScrubState&)>& change);
  void Report(const VerifyFinding& finding);
  absl::Status CountContent(uint64_t blobs, uint64_t bytes);
  // Waits as long as the rate demands for `bytes`. CANCELLED when the page shall end.
  absl::Status Spend(uint64_t bytes);
  uint64_t RateLocked() const;

  Engine& engine_;
  const Options options_;
  // Held by whoever takes steps.
  std::mutex stepping_;
  // Guards what follows.
  mutable std::mutex mutex_;
  // RunCycle takes the steps: a pause is not for it.
  bool runs_in_caller_ = false;
  std::condition_variable wake_;
  bool stopping_ = false;
  bool is_loaded_ = false;
  bool begin_ = false;
  ScrubState state_;
  absl::Time stored_at_ = absl::InfinitePast();
  std::chrono::steady_clock::time_point next_spend_{};
  uint64_t content_bytes_ = 0;
  std::deque<Digest> suspects_;
  absl::Status last_failure_;
  std::thread thread_;
};

}  // namespace coffer
