// SPDX-License-Identifier: Apache-2.0
#include "tests/support/damage.h"

#include "absl/strings/str_cat.h"
#include "storage/rocks/database.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/rows.h"

namespace coffer {
namespace {

absl::Status FlipBit(rocks::Database& database, rocksdb::ColumnFamilyHandle* family, const std::string& key,
                     int64_t offset) {
  absl::StatusOr<std::optional<std::string>> value = rocks::ReadRow(database, family, key);
  if (!value.ok()) return value.status();
  if (!value->has_value()) return absl::NotFoundError("no such row");
  std::string damaged = **value;
  if (offset < 0) offset += static_cast<int64_t>(damaged.size());
  if (offset < 0 || offset >= static_cast<int64_t>(damaged.size())) {
    return absl::InvalidArgumentError(absl::StrCat("the row has only ", damaged.size(), " bytes"));
  }
  damaged[offset] = static_cast<char>(damaged[offset] ^ 1);
  rocksdb::WriteOptions options;
  options.sync = true;
  return rocks::ToStatus(database.db().Put(options, family, key, damaged), "damaging a row");
}

}  // namespace

absl::Status DamageRecord(const std::string& data_dir, const Digest& digest, int64_t offset) {
  absl::StatusOr<std::unique_ptr<rocks::Database>> database = rocks::Database::Open(data_dir);
  if (!database.ok()) return database.status();
  return FlipBit(**database, (*database)->records(), std::string(digest.view()), offset);
}

absl::Status DamagePiece(const std::string& data_dir, const Digest& digest, const PieceId& piece, int64_t offset) {
  absl::StatusOr<std::unique_ptr<rocks::Database>> database = rocks::Database::Open(data_dir);
  if (!database.ok()) return database.status();
  absl::StatusOr<std::optional<std::string>> value =
      rocks::ReadRow(**database, (*database)->records(), digest.view());
  if (!value.ok()) return value.status();
  absl::StatusOr<rocks::RecordRow> row = rocks::DecodeRecord(digest, value->value_or(""));
  if (!row.ok()) return row.status();
  return FlipBit(**database, (*database)->content(), rocks::PieceKey(row->record.content_id, piece), offset);
}

}  // namespace coffer
