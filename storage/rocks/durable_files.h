// SPDX-License-Identifier: Apache-2.0
//
// Files beside the database that must be on the disk when a call returns. All may return UNAVAILABLE, naming the path.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace coffer::rocks {

absl::Status SyncDirectory(const std::string& path);

// Writes under another name first: the old content is there, or the new.
absl::Status ReplaceFile(const std::string& path, absl::string_view content);

absl::Status TruncateFile(const std::string& path, uint64_t size_bytes);

absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

}  // namespace coffer::rocks
