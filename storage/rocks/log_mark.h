// SPDX-License-Identifier: Apache-2.0
//
// How long each log was, noted beside the database from time to time: a log that is shorter or gone at the next start
// has lost something that was acknowledged, although what is left of it is whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace coffer::rocks {

struct LogExtent {
  uint64_t number = 0;
  uint64_t size_bytes = 0;

  bool operator==(const LogExtent&) const = default;
};

// Path of a log in the database directory.
std::string LogPath(const std::string& database_dir, uint64_t number);

// The logs of a database directory, in order, as they are now. UNAVAILABLE.
absl::StatusOr<std::vector<LogExtent>> ListLogs(const std::string& database_dir);

// Replaces the mark of a data directory, durably. Everything in `logs` must be synced. UNAVAILABLE.
absl::Status WriteLogMark(const std::string& data_dir, const std::vector<LogExtent>& logs);

// Empty if there is none. DATA_LOSS if it is damaged, UNAVAILABLE.
absl::StatusOr<std::vector<LogExtent>> ReadLogMark(const std::string& data_dir);

// Removes it: nothing is known about the logs from now on. UNAVAILABLE.
absl::Status RemoveLogMark(const std::string& data_dir);

}  // namespace coffer::rocks
