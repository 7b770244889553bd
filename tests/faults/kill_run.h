// SPDX-License-Identifier: Apache-2.0
//
// One store whose process is killed again and again, and is compared with the model after each time.
//
//   1. A child opens the store and works on it. It prints every operation that it begins and every answer that it gets.
//   2. SIGKILL ends it at some moment, or RocksDB's kill points do: it ends itself between two steps of the database.
//   3. The same seed tells here what the operations were; the store opens and must show what the model says.
//
// Nothing that was written is lost when a process dies, so a kill finds other errors than a loss of power. The moment
// of death cannot be repeated: of the same seed, only the operations are the same.
#pragma once

#include <cstdint>
#include <string>

#include "tests/faults/crash_run.h"

namespace coffer::faults {

struct KillOptions {
  uint64_t seed = 1;
  int threads = 1;
  int kills = 6;
  // Of each thread in one life.
  int operations = 400;
  // Called with the arguments that WorkInChild takes.
  std::string program;
};

// `data_dir` does not exist yet and is left behind.
CrashReport RunKills(const std::string& data_dir, const KillOptions& options);

// What the child does: arguments[0] says so (kWork), the others come from RunKills. Returns its exit code.
inline constexpr char kWork[] = "work";
int WorkInChild(const std::vector<std::string>& arguments);

}  // namespace coffer::faults
