// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/row_mender.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/names.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/content_rows.h"
#include "storage/rocks/meta_rows.h"
#include "storage/rocks/reference_rows.h"
#include "storage/rocks/rows.h"

namespace coffer::rocks {
namespace {

constexpr size_t kIdBytes = 8;
// Rows that are written together.
constexpr uint32_t kBatchRows = 1000;

uint64_t NumberIn(absl::string_view big_endian) {
  uint64_t number = 0;
  for (const char byte : big_endian.substr(0, kIdBytes)) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

}  // namespace

absl::Status RowMender::Run() {
  // Each pass reads what the one before has written.
  for (const auto pass :
       {&RowMender::MendBuckets, &RowMender::MendRecords, &RowMender::MendReferences, &RowMender::MendLinks}) {
    absl::Status status = (this->*pass)();
    if (status.ok()) status = Flush(true);
    if (!status.ok()) return status;
  }
  for (rocksdb::ColumnFamilyHandle* family : {database_.gathered(), database_.ingested()}) {
    if (absl::Status status = DropPieces(family); !status.ok()) return status;
  }
  absl::Status status = DropOldNotes();
  if (status.ok()) status = WriteMeta();
  return status.ok() ? Flush(true) : status;
}

absl::Status RowMender::Flush(bool all) {
  if (batch_.Count() < (all ? 1 : kBatchRows)) return absl::OkStatus();
  rocksdb::WriteOptions options;
  options.sync = true;
  const rocksdb::Status status = database_.db().Write(options, &batch_);
  batch_.Clear();
  return ToStatus(status, "writing mended rows");
}

absl::Status RowMender::MendBuckets() {
  absl::Status status = ScanRows(database_, database_.buckets(), {.prefix = ""},
                                 [&](absl::string_view key, absl::string_view value) -> absl::Status {
                                   absl::StatusOr<BucketRow> row = DecodeBucket(key, value);
                                   if (!row.ok()) return row.status();
                                   buckets_.insert(row->id);
                                   next_bucket_ = std::max(next_bucket_, row->id + 1);
                                   ++totals_.buckets;
                                   return absl::OkStatus();
                                 });
  if (!status.ok()) return status;
  absl::StatusOr<std::vector<uint64_t>> swept = NumbersUnder(database_, kSweepPrefix);
  if (!swept.ok()) return swept.status();
  swept_.insert(swept->begin(), swept->end());
  return absl::OkStatus();
}

absl::Status RowMender::MendRecords() {
  return ScanRows(
      database_, database_.records(), {.prefix = ""},
      [&](absl::string_view key, absl::string_view value) -> absl::Status {
        absl::StatusOr<Digest> digest = Digest::FromBytes(key);
        if (!digest.ok()) return digest.status();
        absl::StatusOr<RecordRow> row = DecodeRecord(*digest, value);
        if (!row.ok()) return row.status();
        const Record& record = row->record;
        if (record.placement != Placement::kInline) {
          next_content_ = std::max(next_content_, record.content_id + 1);
          absl::StatusOr<bool> is_whole = HasPieces(database_, record);
          if (!is_whole.ok()) return is_whole.status();
          if (!*is_whole) {
            ++blobs_dropped_;
            loss_(absl::StrCat("blob ", digest->ToHex(), ", ", record.size_bytes, " bytes: pieces of it are missing"));
            batch_.Delete(database_.records(), ToSlice(key)).PermitUncheckedError();
            return Flush(false);
          }
          if (owned_.size() <= record.content_id) owned_.resize(record.content_id + 1);
          owned_[record.content_id] = true;
        }
        ++totals_.blobs;
        totals_.content_bytes += record.size_bytes;
        return absl::OkStatus();
      });
}

absl::Status RowMender::MendReferences() {
  return ScanRows(database_, database_.references(), {.prefix = ""},
                  [&](absl::string_view key, absl::string_view value) {
                    absl::Status status = MendReference(key, value);
                    return status.ok() ? Flush(false) : status;
                  });
}

absl::Status RowMender::MendReference(absl::string_view key, absl::string_view value) {
  const BucketId bucket = NumberIn(key);
  next_bucket_ = std::max(next_bucket_, bucket + 1);
  absl::StatusOr<Reference> reference = DecodeReference(key, "", value);
  if (!reference.ok()) return reference.status();
  const Digest& digest = reference->digest;
  if (!buckets_.contains(bucket) && swept_.insert(bucket).second) {
    loss_(absl::StrCat("bucket number ", bucket, ": its row is missing, and its names go with it"));
    batch_.Put(database_.meta(), SweepKey(bucket), "").PermitUncheckedError();
  }
  absl::StatusOr<std::optional<std::string>> found = ReadRow(database_, database_.records(), digest.view());
  if (!found.ok()) return found.status();
  if (!found->has_value()) {
    ++references_dropped_;
    loss_(absl::StrCat("name ", Quoted(reference->name), " of bucket number ", bucket, ": it stood for blob ",
                       digest.ToHex(), ", which is not stored"));
    batch_.Delete(database_.references(), ToSlice(key)).PermitUncheckedError();
    return absl::OkStatus();
  }
  ++totals_.references;
  totals_.referenced_bytes += reference->size_bytes;
  absl::StatusOr<RecordRow> row = DecodeRecord(digest, **found);
  if (!row.ok()) return row.status();
  const std::string link = LinkKey(digest, bucket, reference->name);
  if (row->record.first_bucket == bucket && row->record.first_name == reference->name) {
    batch_.Delete(database_.links(), link).PermitUncheckedError();
  } else {
    batch_.Put(database_.links(), link, ToSlice(kLinked)).PermitUncheckedError();
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RowMender::Names(BucketId bucket, absl::string_view name, const Digest& digest) {
  const std::string key = ReferenceKey(bucket, name);
  absl::StatusOr<std::optional<std::string>> value = ReadRow(database_, database_.references(), key);
  if (!value.ok()) return value.status();
  if (!value->has_value()) return false;
  absl::StatusOr<Reference> reference = DecodeReference(key, "", **value);
  if (!reference.ok()) return reference.status();
  return reference->digest == digest;
}

void RowMender::Condemn(const Digest& digest) {
  batch_.Put(database_.condemned(), ToSlice(digest.view()), EncodeNumber(digest.view(), uptime_ms_))
      .PermitUncheckedError();
}

absl::Status RowMender::MendLinks() {
  // Condemned content gets the grace period anew: no condemned row is younger than the uptime that is stored.
  absl::Status status = ScanRows(database_, database_.condemned(), {.prefix = ""},
                                 [&](absl::string_view key, absl::string_view value) -> absl::Status {
                                   absl::StatusOr<uint64_t> since_ms = DecodeNumber(key, value);
                                   if (since_ms.ok()) uptime_ms_ = std::max(uptime_ms_, *since_ms);
                                   return since_ms.status();
                                 });
  if (!status.ok()) return status;
  absl::StatusOr<std::optional<std::string>> uptime = ReadRow(database_, database_.meta(), Committer::kUptimeKey);
  if (!uptime.ok()) return uptime.status();
  absl::StatusOr<uint64_t> uptime_ms = DecodeNumber(Committer::kUptimeKey, uptime->value_or(""));
  if (!uptime_ms.ok()) return uptime_ms.status();
  uptime_ms_ = std::max(uptime_ms_, *uptime_ms);
  status = ScanRows(database_, database_.links(), {.prefix = ""}, [&](absl::string_view key, absl::string_view value) {
    absl::Status mended = MendLink(key, value);
    return mended.ok() ? Flush(false) : mended;
  });
  if (!status.ok()) return status;
  return ScanRows(database_, database_.records(), {.prefix = ""},
                  [&](absl::string_view key, absl::string_view value) -> absl::Status {
                    absl::StatusOr<Digest> digest = Digest::FromBytes(key);
                    if (!digest.ok()) return digest.status();
                    absl::StatusOr<RecordRow> row = DecodeRecord(*digest, value);
                    if (!row.ok()) return row.status();
                    absl::Status mended = MendFirstLink(*digest, row->record);
                    return mended.ok() ? Flush(false) : mended;
                  });
}

absl::Status RowMender::MendLink(absl::string_view key, absl::string_view value) {
  absl::StatusOr<Digest> digest = Digest::FromBytes(key.substr(0, Digest::kSizeBytes));
  if (!digest.ok()) return digest.status();
  absl::StatusOr<std::optional<std::string>> record = ReadRow(database_, database_.records(), digest->view());
  if (!record.ok()) return record.status();
  bool stays = record->has_value();
  if (stays && value == kLinked) {
    absl::StatusOr<bool> names =
        Names(NumberIn(key.substr(Digest::kSizeBytes)), key.substr(Digest::kSizeBytes + kIdBytes), *digest);
    if (!names.ok()) return names.status();
    stays = *names;
    if (!stays) Condemn(*digest);
  }
  if (!stays) batch_.Delete(database_.links(), ToSlice(key)).PermitUncheckedError();
  return absl::OkStatus();
}

absl::Status RowMender::MendFirstLink(const Digest& digest, const Record& record) {
  if (record.first_bucket == kUnknownBucket) return absl::OkStatus();
  absl::StatusOr<bool> names = Names(record.first_bucket, record.first_name, digest);
  if (!names.ok()) return names.status();
  if (*names) return absl::OkStatus();
  Condemn(digest);
  batch_.Put(database_.links(), LinkKey(digest, record.first_bucket, record.first_name), ToSlice(kFirstLinkGone))
      .PermitUncheckedError();
  return absl::OkStatus();
}

absl::Status RowMender::DropPieces(rocksdb::ColumnFamilyHandle* family) {
  const std::unique_ptr<rocksdb::Iterator> scan(database_.db().NewIterator(rocksdb::ReadOptions(), family));
  for (scan->SeekToFirst(); scan->Valid();) {
    const ContentId content = NumberIn(ToView(scan->key()));
    next_content_ = std::max(next_content_, content + 1);
    if (content < owned_.size() && owned_[content]) {
      scan->Seek(BigEndian64(content + 1));
      continue;
    }
    batch_.Delete(family, scan->key()).PermitUncheckedError();
    if (absl::Status status = Flush(false); !status.ok()) return status;
    scan->Next();
  }
  absl::Status status = ToStatus(scan->status(), absl::StrCat("reading the rows of ", family->GetName()));
  return status.ok() ? Flush(true) : status;
}

absl::Status RowMender::DropOldNotes() {
  const std::pair<absl::string_view, std::string (*)(ContentId)> kinds[] = {{kIntentPrefix, IntentKey},
                                                                            {kErasedPrefix, ErasedKey}};
  for (const auto& [prefix, key_of] : kinds) {
    absl::StatusOr<std::vector<uint64_t>> contents = NumbersUnder(database_, prefix);
    if (!contents.ok()) return contents.status();
    for (const ContentId content : *contents) {
      if (content >= owned_.size() || !owned_[content]) continue;
      batch_.Delete(database_.meta(), key_of(content)).PermitUncheckedError();
      if (absl::Status status = Flush(false); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status RowMender::WriteMeta() {
  const auto at_least = [&](absl::string_view key, uint64_t number) -> absl::Status {
    absl::StatusOr<std::optional<std::string>> value = ReadRow(database_, database_.meta(), key);
    if (!value.ok()) return value.status();
    if (value->has_value()) {
      absl::StatusOr<uint64_t> stored = DecodeNumber(key, **value);
      if (!stored.ok()) return stored.status();
      number = std::max(number, *stored);
    }
    batch_.Put(database_.meta(), ToSlice(key), EncodeNumber(key, number)).PermitUncheckedError();
    return absl::OkStatus();
  };
  absl::Status status = at_least(kNextContentKey, next_content_);
  if (status.ok()) status = at_least(kNextBucketKey, next_bucket_);
  if (status.ok()) status = at_least(Committer::kUptimeKey, uptime_ms_);
  batch_.Put(database_.meta(), ToSlice(Committer::kTotalsKey), EncodeTotals(Committer::kTotalsKey, totals_))
      .PermitUncheckedError();
  return status;
}

}  // namespace coffer::rocks
