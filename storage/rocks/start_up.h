// SPDX-License-Identifier: Apache-2.0
//
// What the engine makes if the store is new, and reads before it serves: steps 2 to 5 of FORMAT.md 9.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/engine.h"
#include "storage/rocks/database.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/log_check.h"
#include "storage/rocks/rocks_engine.h"

namespace coffer::rocks {

struct StartState {
  std::string store_id;
  EngineTotals totals;
  uint64_t uptime_ms = 0;
  ContentId next_content = 1;
};

std::string DatabaseDir(const std::string& data_dir);
std::string StagingDir(const std::string& data_dir);
// Where a backup makes its checkpoint.
std::string CheckpointDir(const std::string& data_dir);
// A data directory in which a store is being restored; no store is made beside it.
std::string RestoringDir(const std::string& data_dir);
// There while a salvage is under way, or was when it ended in the middle.
std::string SalvageNote(const std::string& data_dir);

// Makes the database if there is none, under another name first: a store either is there with its format and identity
// or is not there. DATA_LOSS if there is something that is not a database, UNAVAILABLE if the disk fails.
absl::Status EnsureStore(const std::string& data_dir, rocksdb::Env* env);

// Gives the store a new identity, durably, and returns it. UNAVAILABLE.
absl::StatusOr<std::string> MintStoreId(Database& database);

// Looks at the log before anything is replayed (log_check.h), and cuts off a batch that a crash tore, telling `notice`.
// DATA_LOSS if something is damaged that was acknowledged, UNAVAILABLE.
absl::Status PrepareLog(const std::string& data_dir, rocksdb::Env* env, const Notice& notice);

// What PrepareLog looks for, and nothing is changed.
absl::StatusOr<std::optional<LogFault>> FindLogFault(const std::string& data_dir, rocksdb::Env* env,
                                                     const Notice& notice);

// FAILED_PRECONDITION if the format is not this program's, DATA_LOSS if nobody can tell, UNAVAILABLE.
absl::Status CheckFormat(Database& database, const std::string& data_dir);

// Checks the format, and changes nothing before that; reads identity and totals; empties the staging directory.
// FAILED_PRECONDITION if the format is not this program's, DATA_LOSS if one of these rows is damaged or missing,
// UNAVAILABLE if the disk fails.
absl::StatusOr<StartState> ReadStartState(Database& database, const std::string& data_dir);

// Name, version and build of the library, for people.
std::string DescribeRocksDb();

}  // namespace coffer::rocks
