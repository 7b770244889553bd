// SPDX-License-Identifier: Apache-2.0
//
// The only writer. Callers queue operations; the one that waits longest runs everybody's:
//
//   1. take what waits, up to kGroupOperations or kGroupBytes, and one slice of bulk work;
//   2. run each operation over the database plus the batch being built: it checks its preconditions there and
//      adds its rows; one that fails adds nothing;
//   3. write the batch and sync once;
//   4. answer all; the next that waits goes on.
//
// So preconditions never race, and at most one batch is ever unsynced.
#pragma once

#include <rocksdb/utilities/write_batch_with_index.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "storage/engine.h"
#include "storage/rocks/database.h"
#include "storage/rocks/disk_space.h"

namespace coffer::rocks {

// The database with the batch on top. Used by one operation at a time.
class Batch {
 public:
  Batch(Database& database, const EngineTotals& totals, uint64_t uptime_ms)
      : totals(totals), database_(database), uptime_ms_(uptime_ms) {}

  // The value, or nothing. DATA_LOSS, UNAVAILABLE.
  absl::StatusOr<std::optional<std::string>> Get(rocksdb::ColumnFamilyHandle* family, absl::string_view key);
  void Put(rocksdb::ColumnFamilyHandle* family, absl::string_view key, absl::string_view value);
  // Puts a row that Get of this batch need not find, its value in parts: bytes of content, copied once and not indexed.
  void PutContent(rocksdb::ColumnFamilyHandle* family, absl::string_view key,
                  std::initializer_list<absl::string_view> value);
  void Delete(rocksdb::ColumnFamilyHandle* family, absl::string_view key);
  // Calls `row` with key and value of the rows whose key starts with `prefix`, in order, until it returns false.
  // DATA_LOSS, UNAVAILABLE.
  absl::Status Scan(rocksdb::ColumnFamilyHandle* family, absl::string_view prefix,
                    absl::FunctionRef<bool(absl::string_view, absl::string_view)> row);

  // The store's age in served time when this batch was begun.
  uint64_t uptime_ms() const { return uptime_ms_; }

  // What the totals are once the batch is written.
  EngineTotals totals;

 private:
  friend class Committer;
  // The only width that RocksDB has.
  static constexpr size_t kProtectionBytes = 8;

  Database& database_;
  const uint64_t uptime_ms_;
  // Eight bytes a row protect it from here to the memtable.
  rocksdb::WriteBatchWithIndex rows_{rocksdb::BytewiseComparator(), 0, true, 0, kProtectionBytes};
};

// Bulk work is what no client waits for a single row of: slices of a sweep, of a reclaim. Each batch takes one, so
// that it goes on under load and callers wait for one slice at most.
enum class Lane { kCallers, kBulk };

// Thread-safe.
class Committer {
 public:
  using Operation = absl::FunctionRef<absl::Status(Batch&)>;

  // `database` is borrowed. `uptime`: the clock that stamps batches, called by one thread at a time.
  // `disk_space` is borrowed: a batch that the disk has no room for does not reach the log.
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
  static constexpr size_t kGroupOperations = 64;
  // A sync costs as much as writing about a quarter of it.
  static constexpr size_t kGroupBytes = 4 << 20;

  struct Waiter {
    Operation operation;
    size_t size_bytes;
    absl::Status status;
    bool done = false;
    std::condition_variable wake;
  };

  // Who runs the next group, or null; guarded by mutex_.
  Waiter* Next() const;
  std::vector<Waiter*> TakeGroup();
  void Run(const std::vector<Waiter*>& group);

  Database& database_;
  const std::function<uint64_t()> uptime_ms_;
  const DiskSpace& disk_space_;
  // Guards what follows but failure_. From the standard library: a thread sanitizer sees through it, which it does not
  // for a mutex in a library that was built without one.
  mutable std::mutex mutex_;
  std::deque<Waiter*> callers_;
  std::deque<Waiter*> bulk_;
  bool is_running_ = false;
  EngineTotals totals_;
  // Of the batch that was written last; 0 before the first. Used by the one that runs a group alone.
  uint64_t previous_sequence_ = 0;
  // Set for good by the first failed write. Used by the one that runs a group alone.
  absl::Status failure_;
};

}  // namespace coffer::rocks
