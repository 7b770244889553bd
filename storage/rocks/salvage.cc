// SPDX-License-Identifier: Apache-2.0
//
// SalvageStore:
//
//   1. note that a salvage is under way: until that is gone the store does not start;
//   2. set the log aside from the damage on: a copy of the damaged one, which is cut there, and all later ones;
//   3. open the database, which replays what is left. Each family of rows may have been flushed up to another
//      moment, so make them fit (row_mender.h);
//   4. remove the note.
//
// Each step may be done again.
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/rocks/durable_files.h"
#include "storage/rocks/offline.h"
#include "storage/rocks/row_mender.h"
#include "storage/rocks/start_up.h"

namespace coffer {
namespace rocks {
namespace {

namespace fs = std::filesystem;

absl::Status SetAside(const fs::path& from, const fs::path& to, bool keeps_the_original) {
  std::error_code error;
  if (!fs::exists(from, error)) return absl::OkStatus();
  fs::create_directories(to.parent_path(), error);
  if (!error && keeps_the_original) fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (!error && !keeps_the_original) fs::rename(from, to, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("log ", from.string(), " cannot be set aside: ", error.message()));
}

// The last log first: as long as the damaged one is as it was, a second run finds the same damage.
absl::Status SetLogsAside(const std::string& data_dir, const LogFault& fault) {
  absl::StatusOr<std::vector<LogExtent>> logs = ListLogs(DatabaseDir(data_dir));
  if (!logs.ok()) return logs.status();
  const fs::path aside = fs::path(data_dir) / "salvaged";
  for (auto log = logs->rbegin(); log != logs->rend() && log->number > fault.log_number; ++log) {
    const fs::path path = LogPath(DatabaseDir(data_dir), log->number);
    if (absl::Status status = SetAside(path, aside / path.filename(), false); !status.ok()) return status;
  }
  const fs::path path = fault.path;
  absl::Status status = SetAside(path, aside / path.filename(), true);
  std::error_code error;
  if (status.ok() && fs::exists(path, error)) status = CutTornEnd(fault);
  if (status.ok()) status = SyncDirectory(DatabaseDir(data_dir));
  // It speaks of the logs as they were.
  return status.ok() ? RemoveLogMark(data_dir) : status;
}

absl::StatusOr<Salvaged> Salvage(const RocksOptions& options, const Notice& loss) {
  absl::StatusOr<DirectoryLock> lock = DirectoryLock::Take(options.data_dir);
  if (!lock.ok()) return lock.status();
  absl::StatusOr<std::optional<LogFault>> fault = FindLogFault(options.data_dir, options.env, options.notice);
  if (absl::IsDataLoss(fault.status())) {
    return absl::DataLossError(
        absl::StrCat("more than the log is damaged, restore a backup: ", fault.status().message()));
  }
  if (!fault.ok()) return fault.status();
  std::error_code error;
  const bool goes_on = fs::exists(SalvageNote(options.data_dir), error);
  const bool is_damaged = fault->has_value() && !(*fault)->is_torn_end;
  if (!goes_on && !is_damaged) {
    return absl::FailedPreconditionError(
        absl::StrCat("the log of ", options.data_dir, " is sound: there is nothing to salvage"));
  }
  Salvaged salvaged;
  absl::Status status = ReplaceFile(SalvageNote(options.data_dir), "");
  if (status.ok() && fault->has_value()) {
    salvaged.log_bytes = (*fault)->lost_bytes;
    loss(absl::StrCat("log ", (*fault)->path, " from offset ", (*fault)->offset_bytes, " on, ", (*fault)->lost_bytes,
                      " bytes with those of later logs: ", (*fault)->problem));
    status = SetLogsAside(options.data_dir, **fault);
  }
  if (!status.ok()) return status;
  {
    absl::StatusOr<std::unique_ptr<Database>> database = Database::Open(DatabaseDir(options.data_dir), options.env);
    if (!database.ok()) return database.status();
    if (status = CheckFormat(**database, options.data_dir); !status.ok()) return status;
    RowMender mender(**database, loss);
    if (status = mender.Run(); !status.ok()) return status;
    salvaged.blobs_dropped = mender.blobs_dropped();
    salvaged.references_dropped = mender.references_dropped();
  }
  fs::remove(SalvageNote(options.data_dir), error);
  if (status = SyncDirectory(options.data_dir); !status.ok()) return status;
  return salvaged;
}

}  // namespace
}  // namespace rocks

absl::StatusOr<Salvaged> SalvageStore(const RocksOptions& options, const Notice& loss) {
  std::error_code error;
  if (!std::filesystem::is_directory(rocks::DatabaseDir(options.data_dir), error)) {
    return absl::NotFoundError(absl::StrCat("there is no store in ", options.data_dir));
  }
  return rocks::Salvage(options, loss);
}

}  // namespace coffer
