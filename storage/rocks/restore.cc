// SPDX-License-Identifier: Apache-2.0
//
// RestoreStore:
//
//   1. take the lock of the new data directory, which has no store; as long as "restoring" is in it no store
//      is made there;
//   2. copy the files of the backup to restoring/db, each with the size and checksum of the backup's list;
//   3. mend a torn end of the log, and check everything (CheckStore);
//   4. give the store an identity of its own, and rename restoring/db to db.
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "storage/rocks/backup.h"
#include "storage/rocks/backup_files.h"
#include "storage/rocks/durable_files.h"
#include "storage/rocks/offline.h"
#include "storage/rocks/start_up.h"

namespace coffer {
namespace rocks {
namespace {

namespace fs = std::filesystem;

absl::Status CopyAll(const std::string& backup, const std::string& to) {
  absl::StatusOr<BackupFiles> files = ReadBackupFiles(backup);
  if (!files.ok()) return files.status();
  std::error_code error;
  fs::remove_all(to, error);
  if (!error) fs::create_directories(to, error);
  if (error) return absl::UnavailableError(absl::StrCat(to, " cannot be made: ", error.message()));
  for (const auto& [name, expected] : *files) {
    const std::string from = absl::StrCat(DatabaseDir(backup), "/", name);
    if (!fs::exists(from, error)) return absl::DataLossError(absl::StrCat("the backup lost its file ", from));
    absl::StatusOr<BackupFile> copied = CopyFile(from, absl::StrCat(to, "/", name));
    if (!copied.ok()) return copied.status();
    if (*copied != expected) {
      return absl::DataLossError(absl::StrCat("the file ", from,
                                              " of the backup is damaged: it has not the size and "
                                              "checksum that it was written with"));
    }
  }
  return SyncDirectory(to);
}

// FAILED_PRECONDITION if there is a store, or anything else that no restore has left there.
absl::Status CheckEmpty(const std::string& data_dir) {
  std::error_code error;
  if (!fs::exists(data_dir, error)) return absl::OkStatus();
  for (fs::directory_iterator it(data_dir, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name == "cofferd.lock" || name == "restoring" || name == "lost+found") continue;
    return absl::FailedPreconditionError(
        absl::StrCat("there is something in ", data_dir, " already, ", name, ": restore to an empty directory"));
  }
  if (error) return absl::UnavailableError(absl::StrCat(data_dir, " cannot be listed: ", error.message()));
  return absl::OkStatus();
}

absl::StatusOr<Restored> Restore(const std::string& from, const RocksOptions& options) {
  absl::StatusOr<BackupFiles> files = ReadBackupFiles(from);
  if (!files.ok()) return files.status();
  if (absl::Status status = CheckEmpty(options.data_dir); !status.ok()) return status;
  absl::StatusOr<DirectoryLock> lock = DirectoryLock::Take(options.data_dir);
  if (!lock.ok()) return lock.status();
  const std::string target = DatabaseDir(options.data_dir);
  std::error_code error;
  const std::string restoring = RestoringDir(options.data_dir);
  if (absl::Status status = CopyAll(from, DatabaseDir(restoring)); !status.ok()) return status;
  if (absl::Status status = PrepareLog(restoring, options.env, options.notice); !status.ok()) return status;
  absl::StatusOr<uint64_t> blobs = ResolveEverything(restoring, 1);
  if (!blobs.ok()) return blobs.status();
  Restored restored;
  restored.blobs = *blobs;
  {
    absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(DatabaseDir(restoring), options.env);
    if (!database.ok()) return database.status();
    absl::StatusOr<std::string> store_id = MintStoreId(**database);
    if (!store_id.ok()) return store_id.status();
    restored.store_id = *std::move(store_id);
  }
  fs::rename(DatabaseDir(restoring), target, error);
  if (error) return absl::UnavailableError(absl::StrCat(target, " cannot be made: ", error.message()));
  if (absl::Status status = SyncDirectory(options.data_dir); !status.ok()) return status;
  fs::remove_all(restoring, error);
  return restored;
}

}  // namespace
}  // namespace rocks

absl::StatusOr<Restored> RestoreStore(const std::string& from, const RocksOptions& options) {
  return rocks::Restore(from, options);
}

}  // namespace coffer
