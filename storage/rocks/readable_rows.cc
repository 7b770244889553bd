// SPDX-License-Identifier: Apache-2.0
//
//   1. Rows are read until the database finds damage.
//   2. From there the distance is doubled until reading succeeds again, and halved until it hardly does: keys are taken
//      for numbers of 16 bytes.
//   3. Reading goes on there.
#include "storage/rocks/readable_rows.h"

#include <memory>
#include <optional>
#include <string>

namespace coffer::rocks {
namespace {

using Number = unsigned __int128;
constexpr size_t kNumberBytes = sizeof(Number);

Number NumberOf(absl::string_view key) {
  Number number = 0;
  for (size_t i = 0; i < kNumberBytes; ++i) {
    number = number << 8 | static_cast<uint8_t>(i < key.size() ? key[i] : 0);
  }
  return number;
}

std::string KeyOf(Number number) {
  std::string key(kNumberBytes, '\0');
  for (size_t i = kNumberBytes; i-- > 0; number >>= 8) key[i] = static_cast<char>(number);
  return key;
}

// Whether rows can be read from `number` on. UNAVAILABLE.
absl::StatusOr<bool> IsReadable(rocksdb::Iterator& rows, Number number) {
  rows.Seek(KeyOf(number));
  absl::Status status = ToStatus(rows.status(), "looking for the end of damage");
  if (absl::IsDataLoss(status)) return false;
  if (!status.ok()) return status;
  return true;
}

// The least number behind `begin` from which rows can be read, or nothing.
absl::StatusOr<std::optional<Number>> NextReadable(Database& database, rocksdb::ColumnFamilyHandle* family,
                                                   Number begin) {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> rows(database.db().NewIterator(read, family));
  Number unreadable = begin;
  std::optional<Number> readable;
  for (Number distance = 1; !readable.has_value() && distance != 0; distance <<= 1) {
    const Number next = begin + distance;
    if (next < begin) break;  // the last doubling went beyond the end
    absl::StatusOr<bool> is_readable = IsReadable(*rows, next);
    if (!is_readable.ok()) return is_readable.status();
    if (*is_readable) {
      readable = next;
    } else {
      unreadable = next;
    }
  }
  while (readable.has_value() && *readable - unreadable > 1) {
    const Number middle = unreadable + (*readable - unreadable) / 2;
    absl::StatusOr<bool> is_readable = IsReadable(*rows, middle);
    if (!is_readable.ok()) return is_readable.status();
    (*is_readable ? *readable : unreadable) = middle;
  }
  return readable;
}

}  // namespace

absl::Status ScanReadable(Database& database, rocksdb::ColumnFamilyHandle* family, const ScanOptions& options,
                          absl::FunctionRef<absl::Status(absl::string_view, absl::string_view)> row,
                          absl::FunctionRef<void(const absl::Status&)> lost) {
  std::string after(options.after);
  size_t left = options.limit;
  while (left > 0) {
    absl::Status refused;
    const absl::Status status =
        ScanRows(database, family, {.prefix = "", .after = after, .limit = left, .fill_cache = options.fill_cache},
                 [&](absl::string_view key, absl::string_view value) {
                   --left;
                   after = std::string(key);
                   refused = row(key, value);
                   return refused;
                 });
    if (!refused.ok()) return refused;
    if (!absl::IsDataLoss(status)) return status;
    lost(status);
    absl::StatusOr<std::optional<Number>> next = NextReadable(database, family, NumberOf(after));
    if (!next.ok()) return next.status();
    if (!next->has_value()) return absl::OkStatus();
    after = KeyOf(**next);
  }
  return absl::OkStatus();
}

}  // namespace coffer::rocks
