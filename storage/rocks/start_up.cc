// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/start_up.h"

#include <rocksdb/version.h>

#include <filesystem>
#include <random>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/rows.h"

namespace coffer::rocks {
namespace {

constexpr absl::string_view kFormatKey = "format";
constexpr absl::string_view kStoreIdKey = "store_id";
// 0: before the first release, not kept readable by later programs.
constexpr uint64_t kFormat = 0;

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

absl::StatusOr<std::string> MakeStore(Database& database) {
  const std::string store_id = NewStoreId();
  rocksdb::WriteBatch batch;
  rocksdb::WriteOptions options;
  options.sync = true;
  const auto put = [&](absl::string_view key, absl::string_view value) {
    return batch.Put(database.meta(), ToSlice(key), ToSlice(value));
  };
  rocksdb::Status status = put(kFormatKey, EncodeNumber(kFormatKey, kFormat));
  if (status.ok()) status = put(kStoreIdKey, store_id);
  if (status.ok()) status = put(Committer::kTotalsKey, EncodeTotals(Committer::kTotalsKey, {}));
  if (status.ok()) status = database.db().Write(options, &batch);
  if (!status.ok()) return ToStatus(status, "making the store");
  return store_id;
}

absl::Status MakeEmptyDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (!error) std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("directory ", path, " cannot be emptied: ", error.message()));
}

}  // namespace

std::string StagingDir(const std::string& data_dir) { return absl::StrCat(data_dir, "/staging"); }

absl::StatusOr<StartState> ReadStartState(Database& database, const std::string& data_dir) {
  if (absl::Status status = MakeEmptyDirectory(StagingDir(data_dir)); !status.ok()) return status;
  absl::StatusOr<std::optional<std::string>> format = ReadRow(database, database.meta(), kFormatKey);
  if (!format.ok()) return format.status();
  StartState state;
  if (!format->has_value()) {
    absl::StatusOr<std::string> store_id = MakeStore(database);
    if (!store_id.ok()) return store_id.status();
    state.store_id = *std::move(store_id);
    return state;
  }
  absl::StatusOr<uint64_t> number = DecodeNumber(kFormatKey, **format);
  if (!number.ok()) return number.status();
  if (*number != kFormat) {
    return absl::FailedPreconditionError(absl::StrCat("data directory ", data_dir, " has format ", *number,
                                                      ", but this program reads format ", kFormat,
                                                      ": use the program that wrote it, or a newer one"));
  }
  absl::StatusOr<std::optional<std::string>> store_id = ReadRow(database, database.meta(), kStoreIdKey);
  if (!store_id.ok()) return store_id.status();
  state.store_id = store_id->value_or("");
  absl::StatusOr<std::optional<std::string>> totals = ReadRow(database, database.meta(), Committer::kTotalsKey);
  if (!totals.ok()) return totals.status();
  absl::StatusOr<EngineTotals> decoded = DecodeTotals(Committer::kTotalsKey, totals->value_or(""));
  if (!decoded.ok()) return decoded.status();
  state.totals = *decoded;
  return state;
}

absl::StatusOr<std::vector<uint64_t>> NumbersUnder(Database& database, absl::string_view prefix) {
  std::vector<uint64_t> numbers;
  absl::Status status = ScanRows(database, database.meta(), prefix, [&](absl::string_view key, absl::string_view) {
    if (!absl::StartsWith(key, prefix)) return absl::CancelledError();
    key.remove_prefix(prefix.size());
    uint64_t number = 0;
    for (const char byte : key) number = number << 8 | static_cast<uint8_t>(byte);
    numbers.push_back(number);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return numbers;
}

std::string DescribeRocksDb() {
  // Debian builds the library with its assertions on, which costs speed; others usually do not.
  return absl::StrCat("rocksdb ", rocksdb::GetRocksVersionAsString(true));
}

}  // namespace coffer::rocks
