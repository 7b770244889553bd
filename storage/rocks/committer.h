// SPDX-License-Identifier: Apache-2.0
//
// The only writer. Callers queue operations, and two of them at a time work for all: one builds the next batch while
// another writes the one before.
//
//   1. The builder takes what waits, up to kGroupOperations or kGroupBytes, and one slice of bulk work, and runs each
//      operation over the database, the batch being written and the batch being built: it checks its preconditions
//      there and adds its rows; one that fails adds nothing.
//   2. While the disk is busy with the batch before, it goes on with what comes.
//   3. Then it writes its batch and syncs once; the caller that waits longest becomes the builder meanwhile.
//   4. It answers all whose operations were in the batch.
//
// So preconditions never race, and at most one batch is ever unsynced. A batch that was built on one that could not be
// written is not written either.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "storage/engine.h"
#include "storage/rocks/batch.h"
#include "storage/rocks/database.h"
#include "storage/rocks/disk_space.h"

namespace coffer::rocks {

// Bulk work is what no client waits for a single row of: slices of a sweep, of a reclaim. Each batch takes one, so
// that it goes on under load and callers wait for one slice at most.
enum class Lane { kCallers, kBulk };

// Thread-safe.
class Committer {
 public:
  using Operation = absl::FunctionRef<absl::Status(Batch&)>;

  // Borrows database and `disk_space`: a batch that the disk has no room for does not reach the log. `uptime_ms`: the
  // clock that stamps batches; called by one thread at a time.
  Committer(Database& database, const EngineTotals& totals, std::function<uint64_t()> uptime_ms,
            const DiskSpace& disk_space)
      : database_(database), uptime_ms_(std::move(uptime_ms)), disk_space_(disk_space), totals_(totals) {}

  // Returns once the operation's rows are on disk, or with its own error and no rows. `size_bytes` is about what
  // it will add. RESOURCE_EXHAUSTED while the database waits for space to flush, or the log has none: nothing was
  // written, and it may be tried again. UNAVAILABLE after a write or sync has failed, for this and every later call:
  // what the disk holds then is known only after a restart.
  absl::Status Commit(size_t size_bytes, Operation operation, Lane lane = Lane::kCallers);

  EngineTotals totals() const;

  static constexpr absl::string_view kTotalsKey = "totals";
  static constexpr absl::string_view kUptimeKey = "uptime_ms";

 private:
  // Enough to share a sync among; a group's answers all wait for its slowest operation.
  static constexpr size_t kGroupOperations = 256;
  // A sync costs as much as writing about a quarter of it.
  static constexpr size_t kGroupBytes = 4 << 20;

  // Shared by the caller that sleeps and the one that wakes it. Each has a mutex of its own, so that those who are
  // answered together do not queue for one.
  class Waiter {
   public:
    Waiter(Operation operation, size_t size_bytes) : operation(operation), size_bytes(size_bytes) {}

    enum class Call { kNone, kBuild, kDone };
    Call Sleep();
    void Wake(Call call);

    const Operation operation;
    const size_t size_bytes;
    absl::Status status;

   private:
    std::mutex mutex_;
    std::condition_variable wakes_;
    Call call_ = Call::kNone;
  };
  struct Group {
    std::vector<std::shared_ptr<Waiter>> members;
    size_t size_bytes = 0;
    bool has_bulk = false;
    bool has_caller = false;
  };

  // The next that fits, or null; under mutex_.
  std::shared_ptr<Waiter> Take(Group& group);
  bool CanTake(const Group& group) const;
  void BuildAndWrite(Waiter& self);
  void WakeNextBuilder();
  absl::Status Write(Batch& batch);

  Database& database_;
  const std::function<uint64_t()> uptime_ms_;
  const DiskSpace& disk_space_;
  // Guards what follows but failure_. From the standard library: a thread sanitizer sees through it, which it does not
  // for a mutex in a library that was built without one.
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<Waiter>> callers_;
  std::deque<std::shared_ptr<Waiter>> bulk_;
  bool has_builder_ = false;
  // The batch being written, or null.
  std::shared_ptr<Batch> in_flight_;
  // Wakes the builder: something came, or the disk is free.
  std::condition_variable builder_wakes_;
  EngineTotals totals_;
  // Of the batch that was written last; 0 before the first. Used by the one that writes alone.
  uint64_t previous_sequence_ = 0;
  // Set for good by the first failed write. Used by the one that writes alone.
  absl::Status failure_;
};

}  // namespace coffer::rocks
