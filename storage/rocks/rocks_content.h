// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "storage/engine.h"
#include "storage/rocks/database.h"

namespace coffer::rocks {

// Opens the content of a record for reading. NOT_FOUND, DATA_LOSS if the record is damaged, UNAVAILABLE.
absl::StatusOr<std::unique_ptr<Content>> OpenContent(Database& database, const Digest& digest);

}  // namespace coffer::rocks
