// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/meta_rows.h"

#include "absl/strings/str_cat.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/rows.h"

namespace coffer::rocks {

std::string SweepKey(uint64_t bucket) { return absl::StrCat(kSweepPrefix, BigEndian64(bucket)); }

std::string IntentKey(uint64_t content) { return absl::StrCat(kIntentPrefix, BigEndian64(content)); }

std::string ErasedKey(uint64_t content) { return absl::StrCat(kErasedPrefix, BigEndian64(content)); }

absl::StatusOr<std::vector<uint64_t>> NumbersUnder(Database& database, absl::string_view prefix) {
  std::vector<uint64_t> numbers;
  absl::Status status = ScanRows(database, database.meta(), {.prefix = prefix}, [&](absl::string_view key, auto) {
    uint64_t number = 0;
    for (const char byte : key.substr(prefix.size())) number = number << 8 | static_cast<uint8_t>(byte);
    numbers.push_back(number);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return numbers;
}

absl::StatusOr<uint64_t> TakeNumber(Database& database, Batch& batch, absl::string_view key) {
  absl::StatusOr<std::optional<std::string>> value = batch.Get(database.meta(), key);
  if (!value.ok()) return value.status();
  uint64_t next = 1;
  if (value->has_value()) {
    absl::StatusOr<uint64_t> stored = DecodeNumber(key, **value);
    if (!stored.ok()) return stored;
    next = *stored;
  }
  batch.Put(database.meta(), key, EncodeNumber(key, next + 1));
  return next;
}

}  // namespace coffer::rocks
