// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/backup.h"

#include <rocksdb/utilities/checkpoint.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "storage/rocks/backup_files.h"
#include "storage/rocks/durable_files.h"
#include "storage/rocks/file_checksum.h"
#include "storage/rocks/offline.h"
#include "storage/rocks/start_up.h"

namespace coffer::rocks {
namespace {

namespace fs = std::filesystem;

// The content of one blob in so many is read back from a new backup; all that the database's own checksums do not see
// is found by a scrub of the store, or by `cofferd check` of the backup.
constexpr uint64_t kSampledParts = 64;
// A name that no backup has, for what is not good yet. File systems allow 255 bytes.
std::string UnfinishedName(const std::string& name) { return absl::StrCat(".unfinished-", name.substr(0, 200)); }

absl::Status Failed(const fs::path& path, absl::string_view what, const std::error_code& error) {
  return absl::UnavailableError(absl::StrCat(path.string(), " cannot be ", what, ": ", error.message()));
}

absl::Status Remove(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? Failed(path, "removed", error) : absl::OkStatus();
}

absl::Status MakeDirectory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? Failed(path, "made", error) : absl::OkStatus();
}

// Gone with everything in it when the backup is through, however it ends.
struct Scratch {
  const fs::path path;
  ~Scratch() { Remove(path).IgnoreError(); }
};

// Where earlier backups have a file, by name.
using Earlier = std::multimap<std::string, std::pair<BackupFile, fs::path>>;

absl::StatusOr<Earlier> FilesOfEarlierBackups(const fs::path& backup_dir) {
  Earlier earlier;
  std::error_code error;
  for (fs::directory_iterator it(backup_dir, error), end; !error && it != end; it.increment(error)) {
    if (absl::StartsWith(it->path().filename().string(), ".")) continue;
    // What has no list that can be believed shares nothing.
    absl::StatusOr<BackupFiles> files = ReadBackupFiles(it->path());
    if (!files.ok()) continue;
    for (const auto& [name, file] : *files) {
      if (absl::EndsWith(name, ".sst")) earlier.emplace(name, std::pair(file, it->path() / "db" / name));
    }
  }
  if (error) return Failed(backup_dir, "listed", error);
  return earlier;
}

// Copies a checkpoint, and links what is there already.
class Copier {
 public:
  Copier(fs::path from, fs::path to, Earlier earlier)
      : from_(std::move(from)), to_(std::move(to)), earlier_(std::move(earlier)) {}

  absl::Status Run() {
    if (absl::Status status = ReadChecksums(); !status.ok()) return status;
    if (absl::Status status = MakeDirectory(to_ / "db"); !status.ok()) return status;
    std::error_code error;
    for (fs::directory_iterator it(from_, error), end; !error && it != end; it.increment(error)) {
      if (!it->is_regular_file()) continue;
      if (absl::Status status = TakeOver(it->path().filename(), it->file_size()); !status.ok()) return status;
    }
    if (error) return Failed(from_, "listed", error);
    if (absl::Status status = SyncDirectory(to_ / "db"); !status.ok()) return status;
    return WriteBackupFiles(to_, files_);
  }

  uint64_t written_bytes() const { return written_bytes_; }
  uint64_t shared_bytes() const { return shared_bytes_; }

 private:
  absl::Status ReadChecksums() {
    absl::StatusOr<std::unique_ptr<Database>> database = Database::OpenReadOnly(from_, from_, nullptr);
    if (!database.ok()) return database.status();
    std::vector<rocksdb::LiveFileMetaData> files;
    (*database)->db().GetLiveFilesMetaData(&files);
    for (const rocksdb::LiveFileMetaData& file : files) {
      std::optional<uint32_t> stored = StoredFileChecksum(file.file_checksum, file.file_checksum_func_name);
      if (stored.has_value()) stored_.emplace(file.relative_filename, *stored);
    }
    return absl::OkStatus();
  }

  absl::Status TakeOver(const std::string& name, uint64_t size_bytes) {
    const auto stored = stored_.find(name);
    if (stored != stored_.end()) {
      const BackupFile file{size_bytes, stored->second};
      const auto [begin, end] = earlier_.equal_range(name);
      for (auto known = begin; known != end; ++known) {
        std::error_code error;
        if (known->second.first == file) fs::create_hard_link(known->second.second, to_ / "db" / name, error);
        if (known->second.first != file || error) continue;
        files_.emplace(name, file);
        shared_bytes_ += size_bytes;
        return absl::OkStatus();
      }
    }
    absl::StatusOr<BackupFile> copied = CopyFile(from_ / name, to_ / "db" / name);
    if (!copied.ok()) return copied.status();
    if (stored != stored_.end() && copied->crc32c != stored->second) {
      return absl::DataLossError(
          absl::StrCat("table file ", name, " does not have the checksum that it was written with"));
    }
    written_bytes_ += copied->size_bytes;
    files_.emplace(name, *copied);
    return absl::OkStatus();
  }

  const fs::path from_;
  const fs::path to_;
  const Earlier earlier_;
  // Checksums that the database keeps, by name of the file.
  std::map<std::string, uint32_t> stored_;
  BackupFiles files_;
  uint64_t written_bytes_ = 0;
  uint64_t shared_bytes_ = 0;
};

absl::Status TakeCheckpoint(Database& database, const fs::path& path) {
  if (absl::Status status = database.Flush(); !status.ok()) return status;
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(&database.db(), &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  if (!status.ok()) return ToStatus(status, "making a checkpoint");
  const std::lock_guard alone(database.publish_gate());
  return ToStatus(checkpoint->CreateCheckpoint(path.string()), "making a checkpoint");
}

}  // namespace

absl::StatusOr<uint64_t> ResolveEverything(const std::string& directory, uint64_t parts) {
  absl::Status first;
  const VerifyObserver observer{
      .progress = [](const VerifyProgress&) { return true; },
      .finding = [&](const VerifyFinding& finding) { first.Update(absl::DataLossError(finding.problem)); }};
  uint64_t blobs = 0;
  const CheckOptions options{.data_dir = directory,
                             .subset = 1,
                             .subsets = parts,
                             .env = nullptr,
                             .blobs = &blobs,
                             .reads_tables = parts == 1};
  absl::StatusOr<VerifyProgress> checked = CheckStore(options, observer);
  if (!checked.ok()) return checked.status();
  if (!first.ok()) return first;
  return blobs;
}

absl::StatusOr<BackupSummary> MakeBackup(Database& database, const std::string& data_dir, const std::string& backup_dir,
                                         const std::string& name) {
  const fs::path target = fs::path(backup_dir) / name;
  std::error_code error;
  if (fs::exists(target, error)) return absl::AlreadyExistsError(absl::StrCat("there is a backup ", target.string()));
  if (absl::Status status = MakeDirectory(backup_dir); !status.ok()) return status;
  const Scratch checkpoint{CheckpointDir(data_dir)};
  const Scratch unfinished{fs::path(backup_dir) / UnfinishedName(name)};
  for (const fs::path& left : {checkpoint.path, unfinished.path}) {
    if (absl::Status status = Remove(left); !status.ok()) return status;
  }
  absl::StatusOr<Earlier> earlier = FilesOfEarlierBackups(backup_dir);
  if (!earlier.ok()) return earlier.status();
  if (absl::Status status = TakeCheckpoint(database, checkpoint.path); !status.ok()) return status;
  Copier copier(checkpoint.path, unfinished.path, *std::move(earlier));
  if (absl::Status status = copier.Run(); !status.ok()) return status;
  absl::StatusOr<uint64_t> blobs = ResolveEverything(unfinished.path, kSampledParts);
  if (!blobs.ok()) return blobs.status();
  fs::rename(unfinished.path, target, error);
  if (error) return Failed(target, "made", error);
  if (absl::Status status = SyncDirectory(backup_dir); !status.ok()) return status;
  return BackupSummary{*blobs, copier.written_bytes(), copier.shared_bytes()};
}

}  // namespace coffer::rocks
