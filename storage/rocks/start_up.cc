// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/start_up.h"

#include <rocksdb/version.h>

#include <filesystem>
#include <memory>
#include <random>
#include <system_error>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/durable_files.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/log_mark.h"
#include "storage/rocks/meta_rows.h"
#include "storage/rocks/rows.h"

namespace coffer::rocks {
namespace {

constexpr uint64_t kFormat = 1;

// 128 random bits as 32 hex digits.
std::string NewStoreId() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    const uint32_t word = random();
    id.append(reinterpret_cast<const char*>(&word), sizeof(word));
  }
  return absl::BytesToHexString(id);
}

absl::Status WriteIdentity(Database& database) {
  rocksdb::WriteBatch batch;
  rocksdb::WriteOptions options;
  options.sync = true;
  const auto put = [&](absl::string_view key, const std::string& value) {
    return batch.Put(database.meta(), ToSlice(key), value);
  };
  rocksdb::Status status = put(kFormatKey, EncodeNumber(kFormatKey, kFormat));
  if (status.ok()) status = put(kStoreIdKey, EncodeText(kStoreIdKey, NewStoreId()));
  if (status.ok()) status = put(Committer::kTotalsKey, EncodeTotals(Committer::kTotalsKey, {}));
  if (status.ok()) status = put(Committer::kUptimeKey, EncodeNumber(Committer::kUptimeKey, 0));
  if (status.ok()) status = put(kNextContentKey, EncodeNumber(kNextContentKey, 1));
  if (status.ok()) status = database.db().Write(options, &batch);
  return ToStatus(status, "making the store");
}

// A row without which there is no store.
absl::StatusOr<std::string> NeededRow(Database& database, absl::string_view key) {
  absl::StatusOr<std::optional<std::string>> value = ReadRow(database, database.meta(), key);
  if (!value.ok()) return value.status();
  if (!value->has_value()) return absl::DataLossError(absl::StrCat("the store has no row \"", key, "\""));
  return **std::move(value);
}

absl::StatusOr<uint64_t> NeededNumber(Database& database, absl::string_view key) {
  absl::StatusOr<std::string> row = NeededRow(database, key);
  if (!row.ok()) return row.status();
  return DecodeNumber(key, *row);
}

absl::Status MakeEmptyDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error) std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("directory ", path, " cannot be emptied: ", error.message()));
}

}  // namespace

std::string DatabaseDir(const std::string& data_dir) { return absl::StrCat(data_dir, "/db"); }

std::string StagingDir(const std::string& data_dir) { return absl::StrCat(data_dir, "/staging"); }

std::string CheckpointDir(const std::string& data_dir) { return absl::StrCat(data_dir, "/checkpoint"); }

std::string RestoringDir(const std::string& data_dir) { return absl::StrCat(data_dir, "/restoring"); }

absl::StatusOr<std::string> MintStoreId(Database& database) {
  std::string store_id = NewStoreId();
  rocksdb::WriteOptions options;
  options.sync = true;
  const rocksdb::Status status =
      database.db().Put(options, database.meta(), ToSlice(kStoreIdKey), EncodeText(kStoreIdKey, store_id));
  if (!status.ok()) return ToStatus(status, "making a store id");
  return store_id;
}

std::string SalvageNote(const std::string& data_dir) { return absl::StrCat(data_dir, "/salvage.unfinished"); }

absl::Status EnsureStore(const std::string& data_dir, rocksdb::Env* env) {
  std::error_code error;
  const std::string path = DatabaseDir(data_dir);
  if (std::filesystem::exists(path, error)) return absl::OkStatus();
  if (std::filesystem::exists(RestoringDir(data_dir), error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("a restore to ", data_dir, " was not finished: run `cofferd restore` again"));
  }
  // A store that a crash left half made has never been served.
  const std::string unfinished = path + ".new";
  if (absl::Status status = MakeEmptyDirectory(unfinished); !status.ok()) return status;
  {
    absl::StatusOr<std::unique_ptr<Database>> database = Database::Create(unfinished, env);
    if (!database.ok()) return database.status();
    if (absl::Status status = WriteIdentity(**database); !status.ok()) return status;
  }
  std::filesystem::rename(unfinished, path, error);
  if (error) {
    return absl::UnavailableError(absl::StrCat("database ", path, " cannot be made: ", error.message()));
  }
  return SyncDirectory(data_dir);
}

absl::StatusOr<std::optional<LogFault>> FindLogFault(const std::string& data_dir, rocksdb::Env* env,
                                                     const Notice& notice) {
  uint64_t first_needed = 0;
  {
    // Without the logs: the data directory has none, they are beside the tables.
    absl::StatusOr<std::unique_ptr<Database>> tables = Database::OpenReadOnly(DatabaseDir(data_dir), data_dir, env);
    if (!tables.ok()) return tables.status();
    if (!(*tables)->db().GetIntProperty(rocksdb::DB::Properties::kMinLogNumberToKeep, &first_needed)) {
      return absl::InternalError("RocksDB does not tell which logs it needs");
    }
  }
  absl::StatusOr<std::vector<LogExtent>> mark = ReadLogMark(data_dir);
  if (absl::IsDataLoss(mark.status())) {
    notice(absl::StrCat(mark.status().message(), ": what it would tell about the log is not checked"));
    mark = std::vector<LogExtent>();
  }
  if (!mark.ok()) return mark.status();
  return CheckLogs(DatabaseDir(data_dir), first_needed, *mark);
}

absl::Status PrepareLog(const std::string& data_dir, rocksdb::Env* env, const Notice& notice) {
  std::error_code error;
  if (std::filesystem::exists(SalvageNote(data_dir), error)) {
    return absl::FailedPreconditionError(
        absl::StrCat("a salvage of ", data_dir, " was not finished: run `cofferd salvage` again"));
  }
  absl::StatusOr<std::optional<LogFault>> fault = FindLogFault(data_dir, env, notice);
  if (!fault.ok() || !fault->has_value()) return fault.status();
  if (!(*fault)->is_torn_end) return RefusalOf(**fault);
  notice(absl::StrCat("the log ", (*fault)->path, " ends in a torn batch at offset ", (*fault)->offset_bytes, ", ",
                      (*fault)->lost_bytes, " bytes, which a crash left and which was not acknowledged: cut off"));
  return CutTornEnd(**fault);
}

absl::Status CheckFormat(Database& database, const std::string& data_dir) {
  absl::StatusOr<uint64_t> format = NeededNumber(database, kFormatKey);
  if (!format.ok()) return format.status();
  if (*format != kFormat) {
    return absl::FailedPreconditionError(absl::StrCat("data directory ", data_dir, " has format ", *format,
                                                      ", but this program reads format ", kFormat,
                                                      ": use the program that wrote it, or a newer one"));
  }
  return absl::OkStatus();
}

absl::StatusOr<StartState> ReadStartState(Database& database, const std::string& data_dir) {
  if (absl::Status status = CheckFormat(database, data_dir); !status.ok()) return status;
  absl::StatusOr<std::string> id_row = NeededRow(database, kStoreIdKey);
  if (!id_row.ok()) return id_row.status();
  absl::StatusOr<std::string> store_id = DecodeText(kStoreIdKey, *id_row);
  if (!store_id.ok()) return store_id.status();
  absl::StatusOr<std::string> totals_row = NeededRow(database, Committer::kTotalsKey);
  if (!totals_row.ok()) return totals_row.status();
  absl::StatusOr<EngineTotals> totals = DecodeTotals(Committer::kTotalsKey, *totals_row);
  if (!totals.ok()) return totals.status();
  absl::StatusOr<uint64_t> uptime_ms = NeededNumber(database, Committer::kUptimeKey);
  if (!uptime_ms.ok()) return uptime_ms.status();
  absl::StatusOr<uint64_t> next_content = NeededNumber(database, kNextContentKey);
  if (!next_content.ok()) return next_content.status();
  if (absl::Status status = MakeEmptyDirectory(StagingDir(data_dir)); !status.ok()) return status;
  // What a backup left keeps files alive that the database drops.
  std::error_code error;
  std::filesystem::remove_all(CheckpointDir(data_dir), error);
  if (error)
    return absl::UnavailableError(absl::StrCat(CheckpointDir(data_dir), " cannot be removed: ", error.message()));
  return StartState{*std::move(store_id), *totals, *uptime_ms, *next_content};
}

std::string DescribeRocksDb() {
  // Debian builds the library with its assertions on, which costs speed; others usually do not.
  return absl::StrCat("rocksdb ", rocksdb::GetRocksVersionAsString(true));
}

}  // namespace coffer::rocks
