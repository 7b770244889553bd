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

// `data_dir` does not exist yet and is left behind.
CrashReport RunCrashes(const std::string& data_dir, const CrashOptions& options);

// Opens it, within the time that a start may take, and compares it with the model. Null if it cannot be opened.
std::unique_ptr<BlobStore> OpenAndCompare(const std::string& data_dir, rocksdb::Env* env, Model& model,
                                          CrashReport& report);

// What a database that nobody has open holds must be its content and little more, or an upload that was never published
// is still in it. Returns what is wrong, or "".
std::string CompareLiveBytes(const std::string& data_dir, const EngineTotals& totals);

// A directory for small stores: in memory if there is room.
std::string FastDirectory();

}  // namespace coffer::faults
