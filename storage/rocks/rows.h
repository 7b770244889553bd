// SPDX-License-Identifier: Apache-2.0
//
// Reading rows as they are on disk, past the committer.
#pragma once

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/rocks/database.h"

namespace coffer::rocks {

// The value, or nothing. DATA_LOSS, UNAVAILABLE.
absl::StatusOr<std::optional<std::string>> ReadRow(Database& database, rocksdb::ColumnFamilyHandle* family,
                                                   absl::string_view key);

// Calls `row` with key and value from `from` on, in order, until it returns something else than OK. CANCELLED
// ends the scan well; any other error is returned.
absl::Status ScanRows(Database& database, rocksdb::ColumnFamilyHandle* family, absl::string_view from,
                      absl::FunctionRef<absl::Status(absl::string_view, absl::string_view)> row);

}  // namespace coffer::rocks
