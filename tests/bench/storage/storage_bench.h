// SPDX-License-Identifier: Apache-2.0
//
// What the parts of storage_bench share: its options, its table and its directory. A part is a function that measures
// one kind of thing in a store of its own and removes that afterwards; it does nothing for rows that are not wanted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "hashing/worker_pool.h"
#include "tests/bench/table.h"

namespace coffer::bench {

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

struct StorageBenchOptions {
  // Where to write.
  std::string directory;
  // Fewer and shorter samples of smaller things: ends within 30 seconds.
  bool quick = false;
  // Also what takes many minutes.
  bool long_run = false;
  bool json = false;
  // Rows whose name contains this.
  std::string only;
};

// FreshNumber is thread-safe, the rest is for the thread of the bench.
class StorageBench {
 public:
  explicit StorageBench(StorageBenchOptions options) : options_(std::move(options)), table_(options_.json) {}

  const StorageBenchOptions& options() const { return options_; }
  bool quick() const { return options_.quick; }
  // How often each side has its turn, and how long a turn is that is measured by time.
  int rounds() const { return quick() ? 1 : 5; }
  double turn_seconds() const { return quick() ? 0.1 : 1; }

  bool Wants(const std::string& name) const { return name.find(options_.only) != std::string::npos; }

  std::string PathOf(absl::string_view name) const { return absl::StrCat(options_.directory, "/", name); }

  // A number that was not given out before: for content and keys that are not there yet.
  uint64_t FreshNumber() { return next_number_++; }

  WorkerPool& hash_workers() { return hash_workers_; }

  // Prints the row if it is wanted.
  void Print(const Row& row) {
    if (Wants(row.name)) table_.Print(row);
  }

 private:
  const StorageBenchOptions options_;
  Table table_;
  // As many as a server of two cores has.
  WorkerPool hash_workers_{2};
  std::atomic<uint64_t> next_number_ = 1;
};

// The parts, in the order in which they run.
void SmallPutRows(StorageBench& bench);
void DuplicateRows(StorageBench& bench);
void BatchRows(StorageBench& bench);
void LargePutRows(StorageBench& bench);
void WriteAmplificationRows(StorageBench& bench);
void ReadRows(StorageBench& bench);
void GrowthRows(StorageBench& bench);
void LatencyRows(StorageBench& bench);
void IngestRows(StorageBench& bench);

// What a process of its own does for GrowthRows: opens the store in `data_dir`, looks up absent digests, and prints
// what that took as one object.
void ReportReopened(const std::string& data_dir);

}  // namespace coffer::bench
