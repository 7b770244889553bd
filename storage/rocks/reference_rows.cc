// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/reference_rows.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace coffer::rocks {
namespace {

bool IsFirstLink(const Record& record, BucketId bucket, absl::string_view name) {
  return record.first_bucket == bucket && record.first_name == name;
}

absl::Status RemoveLink(Database& database, Batch& batch, const Digest& digest, BucketId bucket,
                        absl::string_view name) {
  absl::StatusOr<Present> present = FindRecord(database, batch, digest);
  if (!present.ok()) return present.status();
  batch.Put(database.condemned(), digest.view(), EncodeNumber(digest.view(), batch.uptime_ms()));
  const std::string key = LinkKey(digest, bucket, name);
  if (present->record.has_value() && IsFirstLink(*present->record, bucket, name)) {
    batch.Put(database.links(), key, kFirstLinkGone);
  } else {
    batch.Delete(database.links(), key);
  }
  return absl::OkStatus();
}

// Writes the reference's row, and takes back what its predecessor held.
absl::Status Overwrite(Database& database, Batch& batch, const Reference& reference, BucketId bucket) {
  const std::string key = ReferenceKey(bucket, reference.name);
  absl::StatusOr<std::optional<std::string>> before = batch.Get(database.references(), key);
  if (!before.ok()) return before.status();
  if (!before->has_value()) {
    ++batch.totals.references;
  } else if (absl::StatusOr<Reference> old = DecodeReference(key, reference.bucket, **before); old.ok()) {
    batch.totals.referenced_bytes -= old->size_bytes;
    if (!(old->digest == reference.digest)) {
      absl::Status status = RemoveLink(database, batch, old->digest, bucket, reference.name);
      if (!status.ok()) return status;
    }
  }
  batch.totals.referenced_bytes += reference.size_bytes;
  batch.Put(database.references(), key, EncodeReference(key, reference));
  return absl::OkStatus();
}

}  // namespace

void AddLink(Database& database, Batch& batch, const Digest& digest, const Record& record, BucketId bucket,
             absl::string_view name) {
  const std::string key = LinkKey(digest, bucket, name);
  if (IsFirstLink(record, bucket, name)) {
    batch.Delete(database.links(), key);
  } else {
    batch.Put(database.links(), key, kLinked);
  }
}

absl::StatusOr<Present> FindRecord(Database& database, Batch& batch, const Digest& digest) {
  absl::StatusOr<std::optional<std::string>> value = batch.Get(database.records(), digest.view());
  Present present;
  // The database's own check failed: no more can be believed of it than of a row that fails ours.
  present.is_damaged = absl::IsDataLoss(value.status());
  if (present.is_damaged) return present;
  if (!value.ok()) return value.status();
  if (!value->has_value()) return present;
  absl::StatusOr<RecordRow> row = DecodeRecord(digest, **value);
  present.is_damaged = !row.ok();
  if (row.ok()) present.record = std::move(row->record);
  return present;
}

absl::StatusOr<std::optional<BucketRow>> FindBucket(Database& database, Batch& batch, absl::string_view bucket) {
  absl::StatusOr<std::optional<std::string>> value = batch.Get(database.buckets(), bucket);
  if (!value.ok()) return value.status();
  if (!value->has_value()) return std::optional<BucketRow>();
  absl::StatusOr<BucketRow> row = DecodeBucket(bucket, **value);
  if (!row.ok()) return row.status();
  return std::optional<BucketRow>(*row);
}

absl::StatusOr<BucketRow> EnsureBucket(Database& database, Batch& batch, const Bucket& bucket) {
  absl::StatusOr<std::optional<BucketRow>> found = FindBucket(database, batch, bucket.name);
  if (!found.ok()) return found.status();
  if (found->has_value()) return **found;
  absl::StatusOr<uint64_t> id = TakeNumber(database, batch, kNextBucketKey);
  if (!id.ok()) return id.status();
  const BucketRow row{*id, bucket.created};
  batch.Put(database.buckets(), bucket.name, EncodeBucket(bucket.name, row));
  ++batch.totals.buckets;
  return row;
}

absl::Status SetReference(Database& database, Batch& batch, const Reference& reference, const Record& record) {
  absl::StatusOr<BucketRow> bucket = EnsureBucket(database, batch, {reference.bucket, reference.created});
  if (!bucket.ok()) return bucket.status();
  AddLink(database, batch, reference.digest, record, bucket->id, reference.name);
  return Overwrite(database, batch, reference, bucket->id);
}

absl::Status PutRecord(Database& database, Batch& batch, const Reference& reference, Record record,
                       absl::string_view inline_content, const Present& before, ErasedContents& erased) {
  const auto put = [&] {
    batch.Put(database.records(), reference.digest.view(), EncodeRecord(reference.digest, record, inline_content));
  };
  if (before.record.has_value() || before.is_damaged) {
    if (before.record.has_value()) {
      record.first_bucket = before.record->first_bucket;
      record.first_name = before.record->first_name;
      NoteErased(database, batch, *before.record, erased);
      batch.Delete(database.quarantined(), reference.digest.view());
      batch.totals.content_bytes += reference.size_bytes - before.record->size_bytes;
    }
    put();
    return SetReference(database, batch, reference, record);
  }
  absl::StatusOr<BucketRow> bucket = EnsureBucket(database, batch, {reference.bucket, reference.created});
  if (!bucket.ok()) return bucket.status();
  record.first_bucket = bucket->id;
  record.first_name = reference.name;
  put();
  ++batch.totals.blobs;
  batch.totals.content_bytes += reference.size_bytes;
  return Overwrite(database, batch, reference, bucket->id);
}

void NoteErased(Database& database, Batch& batch, const Record& record, ErasedContents& erased) {
  if (record.placement == Placement::kInline) return;
  const Erased note{record.placement, record.size_bytes};
  const std::string key = ErasedKey(record.content_id);
  batch.Put(database.meta(), key, EncodeErased(key, note));
  erased.emplace(record.content_id, note);
}

absl::StatusOr<bool> RemoveReference(Database& database, Batch& batch, BucketId bucket, absl::string_view name) {
  const std::string key = ReferenceKey(bucket, name);
  absl::StatusOr<std::optional<std::string>> value = batch.Get(database.references(), key);
  if (!value.ok()) return value.status();
  if (!value->has_value()) return false;
  // A damaged row can be removed, too; the back-link that it hides keeps its content alive, which loses nothing.
  if (absl::StatusOr<Reference> reference = DecodeReference(key, "", **value); reference.ok()) {
    batch.totals.referenced_bytes -= reference->size_bytes;
    if (absl::Status status = RemoveLink(database, batch, reference->digest, bucket, name); !status.ok()) {
      return status;
    }
  }
  --batch.totals.references;
  batch.Delete(database.references(), key);
  return true;
}

absl::StatusOr<bool> IsLinked(Database& database, Batch& batch, const Digest& digest, const Record& record) {
  const std::string first_key = LinkKey(digest, record.first_bucket, record.first_name);
  if (record.first_bucket == kUnknownBucket) return true;
  bool first_is_gone = false;
  bool is_linked = false;
  absl::Status status =
      batch.Scan(database.links(), digest.view(), [&](absl::string_view key, absl::string_view value) {
        if (value == kLinked) is_linked = true;
        if (value == kFirstLinkGone && key == first_key) first_is_gone = true;
        return !is_linked;
      });
  if (!status.ok()) return status;
  return is_linked || !first_is_gone;
}

absl::Status RemoveRecord(Database& database, Batch& batch, const Digest& digest, const Record& record) {
  std::vector<std::string> links;
  absl::Status status = batch.Scan(database.links(), digest.view(), [&](absl::string_view key, absl::string_view) {
    links.emplace_back(key);
    return true;
  });
  if (!status.ok()) return status;
  for (const std::string& key : links) batch.Delete(database.links(), key);
  batch.Delete(database.records(), digest.view());
  if (record.is_quarantined) batch.Delete(database.quarantined(), digest.view());
  --batch.totals.blobs;
  batch.totals.content_bytes -= record.size_bytes;
  return absl::OkStatus();
}

}  // namespace coffer::rocks
