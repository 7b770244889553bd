// SPDX-License-Identifier: Apache-2.0
//
// The files of a backup: BACKUP_DIR/NAME has a database directory db/, which is a store of its own, and the list
// backup.files with name, size and checksum of each file in db/. Table files never change, so one that an earlier
// backup has as well is a hard link to the same file: removing a backup harms no other.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace coffer::rocks {

struct BackupFile {
  uint64_t size_bytes = 0;
  uint32_t crc32c = 0;

  bool operator==(const BackupFile&) const = default;
};

// By name in db/.
using BackupFiles = std::map<std::string, BackupFile>;

// Writes the list of a backup, durably. UNAVAILABLE.
absl::Status WriteBackupFiles(const std::string& backup, const BackupFiles& files);

// NOT_FOUND if there is none: it is no whole backup. DATA_LOSS if it is damaged, UNAVAILABLE.
absl::StatusOr<BackupFiles> ReadBackupFiles(const std::string& backup);

// Copies a file that does not exist at `to`, past the page cache's interest, and syncs it. RESOURCE_EXHAUSTED if the
// disk is full, UNAVAILABLE.
absl::StatusOr<BackupFile> CopyFile(const std::string& from, const std::string& to);

}  // namespace coffer::rocks
