// SPDX-License-Identifier: Apache-2.0
//
// One store that loses its power again and again, and is compared with the model after each time.
//
//   1. A seed gives the content, the operations of every thread, the call at which the power goes and what the disk
//      keeps then. So the same seed is the same run, as far as threads allow.
//   2. The store opens, now and then losing the power once more on the way, and must show what the model says.
//   3. Threads work on it until the power goes. Then 2 again.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "storage/blob_store.h"
#include "tests/faults/contents.h"
#include "tests/faults/model.h"
#include "tests/faults/operation.h"
#include "tests/support/crashing_disk.h"

namespace coffer::faults {

struct CrashOptions {
  uint64_t seed = 1;
  int threads = 1;
  // Losses of power.
  int crashes = 8;
  // Of each thread between two of them, if the power does not go before.
  int operations = 60;
  Leftovers leftovers = {};
};

struct CrashReport {
  uint64_t crashes = 0;
  // Among them, those during a start.
  uint64_t crashes_in_start = 0;
  uint64_t acknowledged = 0;
  double longest_start_seconds = 0;
  // What was wrong, with the seed; the run ends with the first crash that shows something.
  std::vector<std::string> problems;

  void Add(const CrashReport& other);
};

// Threads work on the store, each through its own part of the script, and tell the model. They stop when
// `power_is_lost`, and an error counts only if it is not.
struct Workers {
  int threads = 1;
  // Of each.
  int operations = 0;
};
void WorkTogether(BlobStore& store, const Contents& contents, const Script& script, Model& model,
                  const Workers& workers, absl::FunctionRef<bool()> power_is_lost, CrashReport& report);

// `data_dir` does not exist yet and is left behind.
CrashReport RunCrashes(const std::string& data_dir, const CrashOptions& options);

// Opens it, within the time that a start may take, and compares it with the model. Null if it cannot be opened.
std::unique_ptr<BlobStore> OpenAndCompare(const std::string& data_dir, rocksdb::Env* env, Model& model,
                                          CrashReport& report);

// The same, and closes it; then CompareLiveBytes.
void CompareAtTheEnd(const std::string& data_dir, rocksdb::Env* env, Model& model, CrashReport& report);

// What a database that nobody has open holds must be its content and little more, or an upload that was never published
// is still in it. Returns what is wrong, or "".
std::string CompareLiveBytes(const std::string& data_dir, const EngineTotals& totals);

// Prints what is wrong, and how much was done; `crashes` is what they are called.
void PrintReport(const char* crashes, const CrashReport& report, uint64_t next_seed);

// A directory for small stores: in memory if there is room.
std::string FastDirectory();

}  // namespace coffer::faults
