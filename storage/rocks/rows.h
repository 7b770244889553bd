// SPDX-License-Identifier: Apache-2.0
//
// Reading rows as they are on disk, past the committer.
#pragma once

#include <cstddef>
#include <limits>
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

struct ScanOptions {
  // Only keys that start with this.
  absl::string_view prefix;
  // Only keys after this one.
  absl::string_view after = {};
  size_t limit = std::numeric_limits<size_t>::max();
  // False for what goes over the whole store: it would push everything else out of the cache.
  bool fill_cache = true;
};

// Calls `row` with key and value, in order of keys, until one returns an error, which is returned. DATA_LOSS,
// UNAVAILABLE.
absl::Status ScanRows(Database& database, rocksdb::ColumnFamilyHandle* family, const ScanOptions& options,
                      absl::FunctionRef<absl::Status(absl::string_view, absl::string_view)> row);

}  // namespace coffer::rocks
