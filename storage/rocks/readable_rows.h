// SPDX-License-Identifier: Apache-2.0
//
// Reading all rows of a family although its table files have places that the database cannot read.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "storage/rocks/database.h"
#include "storage/rocks/rows.h"

namespace coffer::rocks {

// As ScanRows, without a prefix, but goes on behind what fails the database's own checksums: `lost` hears of each such
// place. What is passed over ends within 16 bytes of the key where reading succeeds again.
absl::Status ScanReadable(Database& database, rocksdb::ColumnFamilyHandle* family, const ScanOptions& options,
                          absl::FunctionRef<absl::Status(absl::string_view, absl::string_view)> row,
                          absl::FunctionRef<void(const absl::Status&)> lost);

}  // namespace coffer::rocks
