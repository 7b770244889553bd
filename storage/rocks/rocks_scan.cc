// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/rocks_scan.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "storage/rocks/content_rows.h"
#include "storage/rocks/quarantine.h"
#include "storage/rocks/readable_rows.h"
#include "storage/rocks/rows.h"

namespace coffer::rocks {
namespace {

// Records that are read from the database at a time; with inline content they are 2 MiB.
constexpr size_t kRecordSlice = 1000;
// How often a record may change under an OpenOnDisk before it gives up.
constexpr int kOpenTries = 100;

class DiskContent : public Content {
 public:
  DiskContent(DiskView& view, const Record& record) : view_(view), record_(record) {}

  uint64_t size_bytes() const override { return record_.size_bytes; }
  uint64_t version() const override { return record_.content_id; }
  absl::string_view quarantine() const override { return ""; }

  absl::StatusOr<absl::string_view> Read(const PieceId& id) override {
    const bool is_one_row = IsOneRow(record_);
    const std::string key = PieceKey(record_.content_id, is_one_row ? RowId(0) : id);
    absl::StatusOr<std::optional<absl::string_view>> piece = view_.Piece(record_.placement, key);
    if (!piece.ok()) return piece.status();
    if (!piece->has_value()) return absl::DataLossError("a stored piece is missing on the disk");
    return is_one_row ? PartOf(**piece, record_.size_bytes, id) : **piece;
  }

 private:
  DiskView& view_;
  const Record record_;
};

// Keeps its content from being removed, and says whether it is quarantined.
class PinnedContent : public Content {
 public:
  PinnedContent(std::unique_ptr<DiskView> view, const Record& record, Pins::Pin pin, std::string quarantine)
      : view_(std::move(view)), content_(*view_, record), pin_(std::move(pin)), quarantine_(std::move(quarantine)) {}

  uint64_t size_bytes() const override { return content_.size_bytes(); }
  uint64_t version() const override { return content_.version(); }
  absl::string_view quarantine() const override { return quarantine_; }
  absl::StatusOr<absl::string_view> Read(const PieceId& id) override { return content_.Read(id); }

 private:
  const std::unique_ptr<DiskView> view_;
  DiskContent content_;
  const Pins::Pin pin_;
  const std::string quarantine_;
};

absl::Status RecordIsDamaged(const Digest& digest, const absl::Status& why) {
  return absl::DataLossError(
      absl::StrCat("the record of blob ", digest.ToHex(), " is damaged on the disk: ", why.message()));
}

}  // namespace

DiskView::DiskView(Database& database, rocksdb::Env* disk_env)
    : database_(database),
      records_(database, database.records(), disk_env),
      gathered_(database, database.gathered(), disk_env),
      ingested_(database, database.ingested(), disk_env) {}

absl::StatusOr<std::optional<absl::string_view>> DiskView::Record(absl::string_view key) { return Get(records_, key); }

absl::StatusOr<std::optional<absl::string_view>> DiskView::Piece(Placement placement, absl::string_view key) {
  return Get(placement == Placement::kIngested ? ingested_ : gathered_, key);
}

absl::StatusOr<std::optional<absl::string_view>> DiskView::Get(DiskRows& rows, absl::string_view key) {
  absl::StatusOr<std::optional<absl::string_view>> found = rows.Get(key);
  if (!found.ok() || found->has_value() || is_flushed_) return found;
  if (absl::Status status = Flush(); !status.ok()) return status;
  return rows.Get(key);
}

absl::Status DiskView::Flush() {
  is_flushed_ = true;
  rocksdb::FlushOptions options;
  options.allow_write_stall = true;
  const rocksdb::Status flushed =
      database_.db().Flush(options, {database_.records(), database_.gathered(), database_.ingested()});
  for (DiskRows* rows : {&records_, &gathered_, &ingested_}) rows->Refresh();
  return ToStatus(flushed, "writing to files what is to be checked there");
}

RocksScan::RocksScan(Database& database, rocksdb::Env* disk_env, const std::optional<Digest>& after,
                     const ScanLimits& limits)
    : database_(database),
      view_(database, disk_env),
      limits_(limits),
      after_(after.has_value() ? std::string(after->view()) : "") {}

absl::Status RocksScan::ReadRows() {
  const size_t limit = std::min(kRecordSlice, limits_.blobs - blobs_);
  size_t seen = 0;
  absl::Status status = ScanReadable(
      database_, database_.records(), {.prefix = "", .after = after_, .limit = limit, .fill_cache = false},
      [&](absl::string_view key, absl::string_view value) {
        absl::StatusOr<Digest> digest = Digest::FromBytes(key);
        if (!digest.ok()) return absl::DataLossError("a record has a key that is no digest");
        ++seen;
        rows_.emplace_back(*digest, value);
        after_ = std::string(key);
        return absl::OkStatus();
      },
      [&](const absl::Status& unreadable) { lost_.push_back(std::string(unreadable.message())); });
  all_are_read_ = seen < limit;
  return status;
}

absl::StatusOr<std::optional<ScannedBlob>> RocksScan::Next() {
  while (!records_are_read_) {
    if (rows_.empty() && !all_are_read_ && blobs_ < limits_.blobs && content_bytes_ < limits_.content_bytes) {
      if (absl::Status status = ReadRows(); !status.ok()) return status;
    }
    if (!lost_.empty()) {
      ScannedBlob lost{{}, std::move(lost_.front()), false, BlobNotFound({})};
      lost_.pop_front();
      // What is behind the last one was looked at: the next page shall not find it again.
      if (all_are_read_ && rows_.empty()) last_ = *Digest::FromBytes(std::string(Digest::kSizeBytes, '\xff'));
      return std::optional<ScannedBlob>(std::move(lost));
    }
    if (rows_.empty() || content_bytes_ >= limits_.content_bytes) {
      records_are_read_ = true;
      const auto place = [](const Stored& s) { return std::tie(s.record.placement, s.record.content_id); };
      std::sort(contents_.begin(), contents_.end(),
                [&](const Stored& a, const Stored& b) { return place(a) < place(b); });
      break;
    }
    const auto [digest, value] = std::move(rows_.front());
    rows_.pop_front();
    if (!last_.has_value() || *last_ < digest) last_ = digest;
    ++blobs_;
    if (std::optional<ScannedBlob> blob = TakeRow(digest, value); blob.has_value()) return blob;
  }
  if (next_ == contents_.size()) return std::optional<ScannedBlob>();
  const Stored& stored = contents_[next_++];
  ScannedBlob blob{stored.digest, "", false, std::make_unique<DiskContent>(view_, stored.record)};
  return std::optional<ScannedBlob>(std::move(blob));
}

std::optional<ScannedBlob> RocksScan::TakeRow(const Digest& digest, const std::string& value) {
  absl::StatusOr<RecordRow> row = DecodeRecord(digest, value);
  if (!row.ok()) return ScannedBlob{digest, "", false, row.status()};
  content_bytes_ += row->record.size_bytes;
  if (row->record.is_quarantined) return ScannedBlob{digest, "", true, BlobNotFound(digest)};
  const absl::StatusOr<std::optional<absl::string_view>> on_disk = view_.Record(digest.view());
  if (!on_disk.ok()) return ScannedBlob{digest, "", false, RecordIsDamaged(digest, on_disk.status())};
  if (!on_disk->has_value()) {
    return ScannedBlob{digest, "", false, RecordIsDamaged(digest, absl::DataLossError("it is not there"))};
  }
  // It may be an older one, if the record was written anew; then that is what is proven. Mostly it is the same, and
  // fits its check as well.
  absl::StatusOr<RecordRow> older;
  if (**on_disk != value) {
    older = DecodeRecord(digest, **on_disk);
    if (!older.ok()) return ScannedBlob{digest, "", false, RecordIsDamaged(digest, older.status())};
  }
  if (row->record.placement != Placement::kInline) {
    row->record.first_name.clear();
    contents_.push_back({digest, std::move(row->record)});
    return std::nullopt;
  }
  return ScannedBlob{digest, "", false, InlineContentOf(older.ok() ? *older : *row, std::string(**on_disk), "")};
}

absl::StatusOr<std::unique_ptr<Content>> OpenOnDisk(Database& database, Pins& pins, rocksdb::Env* disk_env,
                                                    const Digest& digest) {
  std::optional<Pins::Pin> pin;
  ContentId pinned = 0;
  for (int tries = 0; tries < kOpenTries; ++tries) {
    // As OpenContent does.
    absl::StatusOr<std::optional<std::string>> value = ReadRow(database, database.records(), digest.view());
    if (!value.ok()) return value.status();
    if (!value->has_value()) return BlobNotFound(digest);
    absl::StatusOr<RecordRow> row = DecodeRecord(digest, **value);
    if (!row.ok()) return row.status();
    const Record& record = row->record;
    const bool is_inline = record.placement == Placement::kInline;
    if (!is_inline && (!pin.has_value() || pinned != record.content_id)) {
      pinned = record.content_id;
      pin.emplace(pins, pinned);
      continue;
    }
    std::string quarantine = record.is_quarantined ? QuarantineReason(database, digest) : "";
    auto view = std::make_unique<DiskView>(database, disk_env);
    absl::StatusOr<std::optional<absl::string_view>> on_disk = view->Record(digest.view());
    // An older row is there if the record was written anew and is in a memtable only.
    if (!on_disk.ok() || *on_disk != **value) {
      if (absl::Status status = view->Flush(); !status.ok()) return status;
      on_disk = view->Record(digest.view());
    }
    if (absl::IsDataLoss(on_disk.status())) return RecordIsDamaged(digest, on_disk.status());
    if (!on_disk.ok()) return on_disk.status();
    const absl::StatusOr<RecordRow> disk_row = DecodeRecord(digest, on_disk->value_or(""));
    if (on_disk->has_value() && !disk_row.ok()) return RecordIsDamaged(digest, disk_row.status());
    if (!is_inline) {
      return std::make_unique<PinnedContent>(std::move(view), record, *std::move(pin), std::move(quarantine));
    }
    if (on_disk->has_value()) return InlineContentOf(*disk_row, std::string(**on_disk), std::move(quarantine));
  }
  return absl::UnavailableError(
      absl::StrCat("blob ", digest.ToHex(), " was erased and put again ", kOpenTries, " times while it was opened"));
}

}  // namespace coffer::rocks
