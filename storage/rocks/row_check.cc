// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/row_check.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/names.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/meta_rows.h"
#include "storage/rocks/reference_rows.h"
#include "storage/rocks/rows.h"

namespace coffer::rocks {
namespace {

constexpr size_t kIdBytes = 8;

uint64_t NumberIn(absl::string_view big_endian) {
  uint64_t number = 0;
  for (const char byte : big_endian.substr(0, kIdBytes)) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

// Looks a needed row up, and decodes it.
template <typename Decode>
auto Decoded(Database& database, absl::string_view key, Decode decode) -> decltype(decode(key, key)) {
  absl::StatusOr<std::optional<std::string>> value = ReadRow(database, database.meta(), key);
  if (!value.ok()) return value.status();
  if (!value->has_value()) return absl::DataLossError(absl::StrCat("the row ", Quoted(key), " is missing"));
  return decode(key, **value);
}

}  // namespace

absl::Status RowCheck::Found(absl::Status status, const std::optional<Digest>& digest) {
  if (!absl::IsDataLoss(status)) return status;
  finding_(digest, std::string(status.message()));
  return absl::OkStatus();
}

std::string RowCheck::Place(BucketId bucket, absl::string_view name) const {
  const auto found =
      std::find_if(buckets_.begin(), buckets_.end(), [&](const auto& one) { return one.first == bucket; });
  return absl::StrCat("name ", Quoted(name), " of bucket ",
                      found != buckets_.end() ? Quoted(found->second) : absl::StrCat("number ", bucket));
}

void RowCheck::Own(ContentId content) {
  if (content < next_content_) owned_[content] = true;
}

absl::Status RowCheck::Run(absl::FunctionRef<absl::Status(const Digest&, const Record&)> record) {
  absl::Status status = CheckMeta();
  if (status.ok()) status = CheckBuckets();
  if (status.ok()) status = CheckReferences();
  if (status.ok()) status = CheckRecords(record);
  if (status.ok()) status = CheckLinks();
  if (status.ok()) status = CheckCondemned();
  if (status.ok()) status = CheckPieces(database_.gathered());
  if (status.ok()) status = CheckPieces(database_.ingested());
  if (status.ok()) CompareTotals();
  return status;
}

absl::Status RowCheck::CheckMeta() {
  const auto number = [&](absl::string_view key, uint64_t* value) -> absl::Status {
    absl::StatusOr<uint64_t> stored = Decoded(database_, key, DecodeNumber);
    if (!stored.ok()) return Found(stored.status());
    *value = *stored;
    return absl::OkStatus();
  };
  uint64_t uptime_ms = 0;
  absl::Status status = number(kNextContentKey, &next_content_);
  if (status.ok()) status = number(Committer::kUptimeKey, &uptime_ms);
  if (status.ok()) status = Found(Decoded(database_, kStoreIdKey, DecodeText).status());
  if (!status.ok()) return status;
  absl::StatusOr<EngineTotals> totals = Decoded(database_, Committer::kTotalsKey, DecodeTotals);
  if (totals.ok()) stored_ = *totals;
  if (status = Found(totals.status()); !status.ok()) return status;
  // Only there once a bucket is.
  absl::StatusOr<std::optional<std::string>> bucket = ReadRow(database_, database_.meta(), kNextBucketKey);
  if (!bucket.ok()) return Found(bucket.status());
  if (bucket->has_value() && !(status = number(kNextBucketKey, &next_bucket_)).ok()) return status;
  owned_.resize(next_content_);
  for (const absl::string_view prefix : {kIntentPrefix, kErasedPrefix}) {
    absl::StatusOr<std::vector<uint64_t>> contents = NumbersUnder(database_, prefix);
    if (!contents.ok()) return Found(contents.status());
    for (const ContentId content : *contents) Own(content);
  }
  return absl::OkStatus();
}

absl::Status RowCheck::CheckBuckets() {
  return Found(ScanRows(database_, database_.buckets(), {.prefix = ""},
                        [&](absl::string_view key, absl::string_view value) -> absl::Status {
                          ++counted_.buckets;
                          absl::StatusOr<BucketRow> row = DecodeBucket(key, value);
                          if (!row.ok()) return Found(row.status());
                          buckets_.emplace_back(row->id, key);
                          if (row->id < next_bucket_) return absl::OkStatus();
                          finding_(std::nullopt, absl::StrCat("bucket ", Quoted(key), " has number ", row->id,
                                                              ", which may be given out again"));
                          return absl::OkStatus();
                        }));
}

absl::StatusOr<std::optional<Record>> RowCheck::RecordOf(const Digest& digest) {
  absl::StatusOr<std::optional<std::string>> value = ReadRow(database_, database_.records(), digest.view());
  if (!value.ok()) return value.status();
  if (!value->has_value()) return std::optional<Record>();
  absl::StatusOr<RecordRow> row = DecodeRecord(digest, **value);
  if (!row.ok()) return row.status();
  return std::optional<Record>(std::move(row->record));
}

absl::Status RowCheck::CheckReferences() {
  return Found(
      ScanRows(database_, database_.references(), {.prefix = ""}, [&](absl::string_view key, absl::string_view value) {
        ++counted_.references;
        return CheckReference(key, value);
      }));
}

absl::Status RowCheck::CheckReference(absl::string_view key, absl::string_view value) {
  absl::StatusOr<Reference> reference = DecodeReference(key, "", value);
  if (!reference.ok()) return Found(reference.status());
  counted_.referenced_bytes += reference->size_bytes;
  const BucketId bucket = NumberIn(key);
  const Digest& digest = reference->digest;
  const std::string place = Place(bucket, reference->name);
  absl::StatusOr<std::optional<Record>> record = RecordOf(digest);
  // A damaged record is reported where records are checked.
  if (absl::IsDataLoss(record.status())) return absl::OkStatus();
  if (!record.ok()) return record.status();
  if (!record->has_value()) {
    finding_(digest, absl::StrCat(place, " stands for blob ", digest.ToHex(), ", which is not stored"));
    return absl::OkStatus();
  }
  if ((*record)->size_bytes != reference->size_bytes) {
    finding_(digest, absl::StrCat(place, " says ", reference->size_bytes, " bytes, blob ", digest.ToHex(), " has ",
                                  (*record)->size_bytes));
  }
  absl::StatusOr<std::optional<std::string>> link =
      ReadRow(database_, database_.links(), LinkKey(digest, bucket, reference->name));
  if (!link.ok()) return Found(link.status(), digest);
  const bool is_first = (*record)->first_bucket == bucket && (*record)->first_name == reference->name;
  if (is_first ? !link->has_value() : link->has_value() && **link == kLinked) return absl::OkStatus();
  finding_(digest, absl::StrCat(place, " has no back-link from blob ", digest.ToHex()));
  return absl::OkStatus();
}

absl::Status RowCheck::CheckRecords(absl::FunctionRef<absl::Status(const Digest&, const Record&)> record) {
  return Found(ScanRows(database_, database_.records(), {.prefix = ""},
                        [&](absl::string_view key, absl::string_view value) -> absl::Status {
                          ++counted_.blobs;
                          absl::StatusOr<Digest> digest = Digest::FromBytes(key);
                          if (!digest.ok()) return Found(absl::DataLossError("a record has a key that is no digest"));
                          absl::StatusOr<RecordRow> row = DecodeRecord(*digest, value);
                          if (!row.ok()) return Found(row.status(), *digest);
                          counted_.content_bytes += row->record.size_bytes;
                          absl::Status status = Found(CheckRecord(*digest, row->record), *digest);
                          return status.ok() ? record(*digest, row->record) : status;
                        }));
}

absl::Status RowCheck::CheckRecord(const Digest& digest, const Record& record) {
  if (record.placement != Placement::kInline) {
    if (record.content_id >= next_content_) {
      finding_(digest, absl::StrCat("blob ", digest.ToHex(), " has content number ", record.content_id,
                                    ", which may be given out again"));
    } else if (IsOwned(record.content_id)) {
      finding_(digest, absl::StrCat("blob ", digest.ToHex(), " has content number ", record.content_id,
                                    ", which something else has as well"));
    }
    Own(record.content_id);
  }
  if (record.first_bucket == kUnknownBucket) return absl::OkStatus();
  absl::StatusOr<std::optional<std::string>> mark =
      ReadRow(database_, database_.links(), LinkKey(digest, record.first_bucket, record.first_name));
  if (!mark.ok()) return mark.status();
  if (mark->has_value()) return absl::OkStatus();
  absl::StatusOr<bool> names = Names(record.first_bucket, record.first_name, digest);
  if (!names.ok()) return names.status();
  if (!*names) {
    finding_(digest, absl::StrCat("blob ", digest.ToHex(), " has a back-link from ",
                                  Place(record.first_bucket, record.first_name), ", which does not stand for it"));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RowCheck::Names(BucketId bucket, absl::string_view name, const Digest& digest) {
  const std::string key = ReferenceKey(bucket, name);
  absl::StatusOr<std::optional<std::string>> value = ReadRow(database_, database_.references(), key);
  if (!value.ok()) return value.status();
  if (!value->has_value()) return false;
  absl::StatusOr<Reference> reference = DecodeReference(key, "", **value);
  // A damaged reference is reported where references are checked.
  return !reference.ok() || reference->digest == digest;
}

absl::Status RowCheck::CheckLinks() {
  return Found(ScanRows(database_, database_.links(), {.prefix = ""},
                        [&](absl::string_view key, absl::string_view value) { return Found(CheckLink(key, value)); }));
}

absl::Status RowCheck::CheckLink(absl::string_view key, absl::string_view value) {
  if (key.size() < Digest::kSizeBytes + kIdBytes || (value != kLinked && value != kFirstLinkGone)) {
    return absl::DataLossError(absl::StrCat("the back-link ", absl::BytesToHexString(key), " is damaged"));
  }
  absl::StatusOr<Digest> digest = Digest::FromBytes(key.substr(0, Digest::kSizeBytes));
  if (!digest.ok()) return absl::DataLossError("a back-link has a key that is no digest");
  const BucketId bucket = NumberIn(key.substr(Digest::kSizeBytes));
  const absl::string_view name = key.substr(Digest::kSizeBytes + kIdBytes);
  absl::StatusOr<bool> names = Names(bucket, name, *digest);
  if (!names.ok()) return names.status();
  const bool says_linked = value == kLinked;
  if (*names == says_linked) return absl::OkStatus();
  // What names it without a back-link was reported with the reference.
  if (*names) return absl::OkStatus();
  finding_(*digest, absl::StrCat("blob ", digest->ToHex(), " has a back-link from ", Place(bucket, name),
                                 ", which does not stand for it"));
  return absl::OkStatus();
}

absl::Status RowCheck::CheckCondemned() {
  return Found(ScanRows(database_, database_.condemned(), {.prefix = ""},
                        [&](absl::string_view key, absl::string_view value) -> absl::Status {
                          absl::StatusOr<Digest> digest = Digest::FromBytes(key);
                          if (!digest.ok())
                            return Found(absl::DataLossError("a condemned row has a key that is no digest"));
                          return Found(DecodeNumber(key, value).status(), *digest);
                        }));
}

absl::Status RowCheck::CheckPieces(rocksdb::ColumnFamilyHandle* family) {
  const std::unique_ptr<rocksdb::Iterator> scan(database_.db().NewIterator(rocksdb::ReadOptions(), family));
  // From id to id, not from piece to piece.
  for (scan->SeekToFirst(); scan->Valid();) {
    const absl::string_view key = ToView(scan->key());
    const ContentId content = NumberIn(key);
    if (key.size() < kIdBytes || !IsOwned(content)) {
      finding_(std::nullopt,
               absl::StrCat("content number ", content, " in ", family->GetName(), " belongs to no blob"));
    }
    scan->Seek(BigEndian64(content + 1));
  }
  return Found(ToStatus(scan->status(), absl::StrCat("reading the rows of ", family->GetName())));
}

void RowCheck::CompareTotals() {
  if (!stored_.has_value()) return;
  const auto compare = [&](absl::string_view what, uint64_t stored, uint64_t counted) {
    if (stored == counted) return;
    finding_(std::nullopt, absl::StrCat("the totals say ", stored, " ", what, ", there are ", counted));
  };
  compare("blobs", stored_->blobs, counted_.blobs);
  compare("bytes of content", stored_->content_bytes, counted_.content_bytes);
  compare("references", stored_->references, counted_.references);
  compare("referenced bytes", stored_->referenced_bytes, counted_.referenced_bytes);
  compare("buckets", stored_->buckets, counted_.buckets);
}

}  // namespace coffer::rocks
