// SPDX-License-Identifier: Apache-2.0
//
// CheckStore: from the outside in.
//
//   1. the lock, without writing into it;
//   2. the log (log_check.h): damage there ends the check, for what the rows are depends on it;
//   3. every table file, block by block;
//   4. format and rows (row_check.h);
//   5. the content of the digests that were asked for, against its tree.
#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "storage/layout.h"
#include "storage/rocks/content_rows.h"
#include "storage/rocks/offline.h"
#include "storage/rocks/pins.h"
#include "storage/rocks/row_check.h"
#include "storage/rocks/start_up.h"
#include "storage/tree_walk.h"

namespace coffer {
namespace rocks {
namespace {

class StoreCheck {
 public:
  StoreCheck(const CheckOptions& options, const VerifyObserver& observer) : options_(options), observer_(observer) {}

  absl::StatusOr<VerifyProgress> Run() {
    absl::StatusOr<std::optional<DirectoryLock>> lock = DirectoryLock::TakeForReading(options_.data_dir);
    if (!lock.ok()) return lock.status();
    absl::Status status = CheckAll();
    // What keeps the database from being opened is damage as well.
    if (absl::IsDataLoss(status)) status = Report({std::nullopt, {}, std::string(status.message())});
    if (!status.ok()) return status;
    return progress_;
  }

 private:
  absl::Status CheckAll() {
    const auto report_notice = [this](const std::string& notice) { Report({std::nullopt, {}, notice}).IgnoreError(); };
    absl::StatusOr<std::optional<LogFault>> fault = FindLogFault(options_.data_dir, options_.env, report_notice);
    if (!fault.ok()) return fault.status();
    const std::string path = DatabaseDir(options_.data_dir);
    // A torn end is no damage: the next start cuts it off.
    const bool is_damaged = fault->has_value() && !(*fault)->is_torn_end;
    if (is_damaged) {
      absl::Status status = Report({std::nullopt, {}, std::string(RefusalOf(**fault).message())});
      if (!status.ok()) return status;
    }
    absl::StatusOr<std::unique_ptr<Database>> database =
        Database::OpenReadOnly(path, is_damaged ? options_.data_dir : path, options_.env);
    if (!database.ok()) return database.status();
    if (options_.reads_tables) {
      if (absl::Status status = CheckTables(**database); !status.ok()) return status;
    }
    if (is_damaged) return absl::OkStatus();
    if (absl::Status status = CheckFormat(**database, options_.data_dir); !status.ok()) return status;
    return CheckRows(**database);
  }

  absl::Status CheckTables(Database& database) {
    std::vector<rocksdb::LiveFileMetaData> files;
    database.db().GetLiveFilesMetaData(&files);
    for (const rocksdb::LiveFileMetaData& file : files) {
      const std::string path = absl::StrCat(file.directory, "/", file.relative_filename);
      rocksdb::SstFileReader reader(database.db().GetOptions(database.ingested()));
      rocksdb::Status status = reader.Open(path);
      if (status.ok()) status = reader.VerifyChecksum();
      if (absl::Status go_on = ReportProgress(); !go_on.ok()) return go_on;
      if (status.ok()) continue;
      absl::Status damaged = Report({std::nullopt, {}, absl::StrCat("table file ", path, ": ", status.ToString())});
      if (!damaged.ok()) return damaged;
    }
    return absl::OkStatus();
  }

  absl::Status CheckRows(Database& database) {
    absl::Status cancelled;
    RowCheck rows(database, [&](const std::optional<Digest>& digest, const std::string& problem) {
      cancelled.Update(Report({digest, {}, problem}));
    });
    absl::Status status = rows.Run([&](const Digest& digest, const Record& record) -> absl::Status {
      if (!cancelled.ok()) return cancelled;
      if (IsInSubset(digest)) return CheckContent(database, digest);
      return CheckPieces(database, digest, record);
    });
    if (options_.blobs != nullptr) *options_.blobs = rows.counted().blobs;
    return status.ok() ? cancelled : status;
  }

  // Content that is not read must be there all the same.
  absl::Status CheckPieces(Database& database, const Digest& digest, const Record& record) {
    absl::StatusOr<bool> is_whole = HasPieces(database, record);
    if (!is_whole.ok() || *is_whole) return is_whole.status();
    return Report({digest, {}, absl::StrCat("blob ", digest.ToHex(), ": pieces of its content are missing")});
  }

  bool IsInSubset(const Digest& digest) const {
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof(number); ++i) number = number << 8 | static_cast<uint8_t>(digest.view()[i]);
    return number % options_.subsets == options_.subset - 1;
  }

  absl::Status CheckContent(Database& database, const Digest& digest) {
    absl::StatusOr<std::unique_ptr<Content>> content = OpenContent(database, pins_, digest);
    if (!content.ok()) return content.status();
    const uint64_t size_bytes = (*content)->size_bytes();
    TreeWalk walk(digest, **content);
    uint64_t position = 0;
    do {
      const uint64_t row = position / kRowBytes;
      uint64_t next = std::min<uint64_t>((row + 1) * kRowBytes, size_bytes);
      absl::Status status = walk.Row(row, position % kRowBytes / kGroupBytes).status();
      if (absl::IsDataLoss(status)) {
        next = std::max(position, walk.damage().offset_bytes + walk.damage().length_bytes);
        status = Report({digest, walk.damage(), std::string(status.message())});
      }
      if (!status.ok()) return status;
      progress_.bytes_checked += next - position;
      position = next;
    } while (position < size_bytes);
    ++progress_.blobs_checked;
    return ReportProgress();
  }

  absl::Status Report(const VerifyFinding& finding) {
    ++progress_.findings;
    observer_.finding(finding);
    return ReportProgress();
  }
  absl::Status ReportProgress() {
    return observer_.progress(progress_) ? absl::OkStatus() : absl::CancelledError("the check was cancelled");
  }

  const CheckOptions options_;
  const VerifyObserver& observer_;
  Pins pins_;
  VerifyProgress progress_;
};

}  // namespace
}  // namespace rocks

absl::StatusOr<VerifyProgress> CheckStore(const CheckOptions& options, const VerifyObserver& observer) {
  std::error_code error;
  if (!std::filesystem::is_directory(rocks::DatabaseDir(options.data_dir), error)) {
    return absl::NotFoundError(absl::StrCat("there is no store in ", options.data_dir));
  }
  return rocks::StoreCheck(options, observer).Run();
}

}  // namespace coffer
