// SPDX-License-Identifier: Apache-2.0
//
// What the engine reads, and makes if the store is new, before it serves: steps 3 to 5 of FORMAT.md 8.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/engine.h"
#include "storage/rocks/database.h"

namespace coffer::rocks {

struct StartState {
  std::string store_id;
  EngineTotals totals;
};

std::string StagingDir(const std::string& data_dir);

// Checks the format, or writes it into a new store; empties the staging directory; reads the totals.
// FAILED_PRECONDITION if the format is not this program's, DATA_LOSS if one of these rows is damaged.
absl::StatusOr<StartState> ReadStartState(Database& database, const std::string& data_dir);

// The numbers that stand behind `prefix` in meta().
absl::StatusOr<std::vector<uint64_t>> NumbersUnder(Database& database, absl::string_view prefix);

// Name, version and build of the library, for people.
std::string DescribeRocksDb();

}  // namespace coffer::rocks
