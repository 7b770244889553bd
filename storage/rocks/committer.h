// SPDX-License-Identifier: Apache-2.0
//
// The only writer. Callers queue operations; the one at the head of the queue runs everybody's:
//
//   1. take what waits, up to kGroupOperations or kGroupBytes;
//   2. run each operation over the database plus the batch being built: it checks its preconditions there and
//      adds its rows; one that fails adds nothing;
//   3. write the batch and sync once;
//   4. answer all; the next in the queue goes on.
//
// So preconditions never race, and at most one batch is ever unsynced.
#pragma once

#include <rocksdb/utilities/write_batch_with_index.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "storage/engine.h"
#include "storage/rocks/database.h"

namespace coffer::rocks {

// The database with the batch on top. Used by one operation at a time.
class Batch {
 public:
  explicit Batch(Database& database, const EngineTotals& totals) : totals(totals), database_(database) {}

  // The value, or nothing. DATA_LOSS, UNAVAILABLE.
  absl::StatusOr<std::optional<std::string>> Get(rocksdb::ColumnFamilyHandle* family, absl::string_view key);
  void Put(rocksdb::ColumnFamilyHandle* family, absl::string_view key, absl::string_view value);
  void Delete(rocksdb::ColumnFamilyHandle* family, absl::string_view key);

  // What the totals are once the batch is written.
  EngineTotals totals;

 private:
  friend class Committer;
  Database& database_;
  rocksdb::WriteBatchWithIndex rows_{rocksdb::BytewiseComparator(), 0, true};
};

// Thread-safe.
class Committer {
 public:
  using Operation = absl::FunctionRef<absl::Status(Batch&)>;

  // `database` is borrowed.
  Committer(Database& database, const EngineTotals& totals) : database_(database), totals_(totals) {}

  // Returns once the operation's rows are on disk, or with its own error and no rows. `size_bytes` is about what
  // it will add. RESOURCE_EXHAUSTED while the database waits for space to flush: nothing was written, and it may be
  // tried again. UNAVAILABLE after a write or sync has failed, for this and every later call: what the disk holds then
  // is known only after a restart.
  absl::Status Commit(size_t size_bytes, Operation operation);

  EngineTotals totals() const;

  static constexpr absl::string_view kTotalsKey = "totals";

 private:
  // Enough to share a sync among; a group's answers all wait for its slowest operation.
  static constexpr size_t kGroupOperations = 64;
  // RocksDB's own bound on a write group, and about 1 ms of disk.
  static constexpr size_t kGroupBytes = 1 << 20;

  struct Waiter {
    Operation operation;
    size_t size_bytes;
    absl::Status status;
    bool done = false;
    std::condition_variable wake;
  };

  void Run(const std::deque<Waiter*>& group);

  Database& database_;
  // Guards queue_ and totals_. From the standard library: a thread sanitizer sees through it, which it does not for a
  // mutex in a library that was built without one.
  mutable std::mutex mutex_;
  std::deque<Waiter*> queue_;
  EngineTotals totals_;
  // Set for good by the first failed write. Used by the head of the queue alone.
  absl::Status failure_;
};

}  // namespace coffer::rocks
