// SPDX-License-Identifier: Apache-2.0
//
// Whether the write-ahead log may be replayed (FORMAT.md 11). Every batch is synced before the next one is written, so
// a crash can tear the last batch alone, and that one was not acknowledged:
//
//   1. read the logs fragment by fragment up to the first place that is not as it was written;
//   2. none: replay it;
//   3. look behind that place, at every byte, for the beginning of another batch, and in later logs. None: the
//      last batch is torn, and is cut off before the log is replayed;
//   4. otherwise something acknowledged is damaged: refuse.
//
// Beside the bytes, two notes tell of what is gone as a whole: each batch ends with one about the batch before it
// (log_trailer.h), and the mark says how long each log was at some time (log_mark.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/rocks/log_mark.h"

namespace coffer::rocks {

// The first place that is not as it was written.
struct LogFault {
  // Whether only the last batch is affected, which was not acknowledged.
  bool is_torn_end = false;
  // The log and the place in it: whole batches lie before it.
  uint64_t log_number = 0;
  std::string path;
  uint64_t offset_bytes = 0;
  // From there to the end of the last log.
  uint64_t lost_bytes = 0;
  // For people.
  std::string problem;
};

// What a program that refuses says. DATA_LOSS, naming the place and the way on.
absl::Status RefusalOf(const LogFault& fault);

// Looks at the logs of the database at `path` with numbers from `first_needed` on; those before are flushed. Changes
// nothing. UNAVAILABLE if the disk does not answer.
absl::StatusOr<std::optional<LogFault>> CheckLogs(const std::string& path, uint64_t first_needed,
                                                  const std::vector<LogExtent>& mark);

// Cuts off the end of the log from the fault on, durably. UNAVAILABLE.
absl::Status CutTornEnd(const LogFault& fault);

}  // namespace coffer::rocks
