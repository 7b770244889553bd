// SPDX-License-Identifier: Apache-2.0
#include "tests/support/damage.h"

#include "absl/strings/str_cat.h"
#include "storage/rocks/database.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/meta_rows.h"
#include "storage/rocks/rows.h"
#include "storage/rocks/start_up.h"

namespace coffer {
namespace {

absl::StatusOr<std::unique_ptr<rocks::Database>> OpenDatabase(const std::string& data_dir) {
  return rocks::Database::Open(rocks::DatabaseDir(data_dir), nullptr);
}

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
  absl::StatusOr<std::unique_ptr<rocks::Database>> database = OpenDatabase(data_dir);
  if (!database.ok()) return database.status();
  return FlipBit(**database, (*database)->records(), std::string(digest.view()), offset);
}

absl::Status DamageSmall(const std::string& data_dir, const Digest& digest, int64_t offset) {
  // An inline blob has no piece of its own.
  absl::Status status = DamagePiece(data_dir, digest, RowId(0), offset);
  return absl::IsNotFound(status) ? DamageRecord(data_dir, digest, offset) : status;
}

absl::Status DamagePiece(const std::string& data_dir, const Digest& digest, const PieceId& piece, int64_t offset) {
  absl::StatusOr<std::unique_ptr<rocks::Database>> database = OpenDatabase(data_dir);
  if (!database.ok()) return database.status();
  absl::StatusOr<std::optional<std::string>> value = rocks::ReadRow(**database, (*database)->records(), digest.view());
  if (!value.ok()) return value.status();
  absl::StatusOr<rocks::RecordRow> row = rocks::DecodeRecord(digest, value->value_or(""));
  if (!row.ok()) return row.status();
  const rocks::Record& record = row->record;
  rocksdb::ColumnFamilyHandle* const family =
      record.placement == rocks::Placement::kIngested ? (*database)->ingested() : (*database)->gathered();
  return FlipBit(**database, family, rocks::PieceKey(record.content_id, piece), offset);
}

absl::Status DamageReference(const std::string& data_dir, const std::string& bucket, const std::string& name,
                             int64_t offset) {
  absl::StatusOr<std::unique_ptr<rocks::Database>> database = OpenDatabase(data_dir);
  if (!database.ok()) return database.status();
  absl::StatusOr<std::optional<std::string>> value = rocks::ReadRow(**database, (*database)->buckets(), bucket);
  if (!value.ok()) return value.status();
  absl::StatusOr<rocks::BucketRow> row = rocks::DecodeBucket(bucket, value->value_or(""));
  if (!row.ok()) return row.status();
  return FlipBit(**database, (*database)->references(), rocks::ReferenceKey(row->id, name), offset);
}

namespace {

absl::Status RemoveRow(rocks::Database& database, rocksdb::ColumnFamilyHandle* family, const std::string& key) {
  absl::StatusOr<std::optional<std::string>> value = rocks::ReadRow(database, family, key);
  if (!value.ok()) return value.status();
  if (!value->has_value()) return absl::NotFoundError("no such row");
  return rocks::ToStatus(database.db().Delete({}, family, key), "removing a row");
}

absl::StatusOr<std::string> ReferenceKeyOf(rocks::Database& database, const std::string& bucket,
                                           const std::string& name) {
  absl::StatusOr<std::optional<std::string>> value = rocks::ReadRow(database, database.buckets(), bucket);
  if (!value.ok()) return value.status();
  absl::StatusOr<rocks::BucketRow> row = rocks::DecodeBucket(bucket, value->value_or(""));
  if (!row.ok()) return row.status();
  return rocks::ReferenceKey(row->id, name);
}

}  // namespace

absl::Status RemoveLink(const std::string& data_dir, const Digest& digest, const std::string& bucket,
                        const std::string& name) {
  absl::StatusOr<std::unique_ptr<rocks::Database>> database = OpenDatabase(data_dir);
  if (!database.ok()) return database.status();
  absl::StatusOr<std::string> key = ReferenceKeyOf(**database, bucket, name);
  if (!key.ok()) return key.status();
  return RemoveRow(**database, (*database)->links(), absl::StrCat(digest.view(), *key));
}

absl::Status RemoveReferenceRow(const std::string& data_dir, const std::string& bucket, const std::string& name) {
  absl::StatusOr<std::unique_ptr<rocks::Database>> database = OpenDatabase(data_dir);
  if (!database.ok()) return database.status();
  absl::StatusOr<std::string> key = ReferenceKeyOf(**database, bucket, name);
  if (!key.ok()) return key.status();
  return RemoveRow(**database, (*database)->references(), *key);
}

absl::Status RemoveRecordRow(const std::string& data_dir, const Digest& digest) {
  absl::StatusOr<std::unique_ptr<rocks::Database>> database = OpenDatabase(data_dir);
  if (!database.ok()) return database.status();
  return RemoveRow(**database, (*database)->records(), std::string(digest.view()));
}

absl::Status SetFormat(const std::string& data_dir, uint64_t format) {
  absl::StatusOr<std::unique_ptr<rocks::Database>> database = OpenDatabase(data_dir);
  if (!database.ok()) return database.status();
  const std::string value = rocks::EncodeNumber(rocks::kFormatKey, format);
  return rocks::ToStatus((*database)->db().Put({}, (*database)->meta(), rocks::ToSlice(rocks::kFormatKey), value),
                         "format");
}

absl::Status PlantUnpublishedContent(const std::string& data_dir, uint64_t content_id) {
  absl::StatusOr<std::unique_ptr<rocks::Database>> database = OpenDatabase(data_dir);
  if (!database.ok()) return database.status();
  rocksdb::WriteBatch batch;
  rocksdb::Status status = batch.Put((*database)->meta(), rocks::IntentKey(content_id), "");
  for (uint64_t row = 0; status.ok() && row < 2500; ++row) {
    status = batch.Put((*database)->ingested(), rocks::PieceKey(content_id, RowId(row)), "row");
  }
  if (status.ok()) status = (*database)->db().Write({}, &batch);
  return rocks::ToStatus(status, "planting content");
}

absl::Status PlantHalfDeletedBucket(const std::string& data_dir, const std::string& bucket) {
  absl::StatusOr<std::unique_ptr<rocks::Database>> database = OpenDatabase(data_dir);
  if (!database.ok()) return database.status();
  absl::StatusOr<std::optional<std::string>> value = rocks::ReadRow(**database, (*database)->buckets(), bucket);
  if (!value.ok()) return value.status();
  absl::StatusOr<rocks::BucketRow> row = rocks::DecodeBucket(bucket, value->value_or(""));
  if (!row.ok()) return row.status();
  rocksdb::WriteBatch batch;
  rocksdb::Status status = batch.Delete((*database)->buckets(), bucket);
  if (status.ok()) status = batch.Put((*database)->meta(), rocks::SweepKey(row->id), "");
  if (status.ok()) status = (*database)->db().Write({}, &batch);
  return rocks::ToStatus(status, "planting a deletion");
}

absl::StatusOr<LeftRows> CountRows(const std::string& data_dir) {
  absl::StatusOr<std::unique_ptr<rocks::Database>> database = OpenDatabase(data_dir);
  if (!database.ok()) return database.status();
  LeftRows left;
  const auto count = [](size_t& rows) {
    return [&rows](absl::string_view, absl::string_view) {
      ++rows;
      return absl::OkStatus();
    };
  };
  rocks::Database& db = **database;
  absl::Status status = rocks::ScanRows(db, db.gathered(), {.prefix = ""}, count(left.content));
  if (status.ok()) status = rocks::ScanRows(db, db.ingested(), {.prefix = ""}, count(left.content));
  if (status.ok()) status = rocks::ScanRows(db, db.references(), {.prefix = ""}, count(left.references));
  for (const absl::string_view prefix : {rocks::kIntentPrefix, rocks::kSweepPrefix, rocks::kErasedPrefix}) {
    if (status.ok()) status = rocks::ScanRows(db, db.meta(), {.prefix = prefix}, count(left.notes));
  }
  if (!status.ok()) return status;
  return left;
}

}  // namespace coffer
