// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/content_rows.h"

#include <rocksdb/convenience.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/rocks/quarantine.h"
#include "storage/rocks/rows.h"

namespace coffer::rocks {
namespace {

// Rows that one operation drops.
constexpr size_t kDropSlice = 1000;
// One piece in so many is looked for, 64 MiB apart: pieces are stored together and lost in whole files.
constexpr size_t kPieceStep = 1024;
// How often a record may change under an Open before it gives up.
constexpr int kOpenTries = 100;

// A blob of at most one row of content is stored in one piece: its level-1 page, if it has one, and the row.
size_t PageBytesBefore(uint64_t size_bytes) {
  return size_bytes == 0 ? 0 : (PageUnits(1, 0, size_bytes) - 1) * kParentBytes;
}

// The whole of it came with the record.
class InlineContent : public Content {
 public:
  InlineContent(uint64_t size_bytes, std::string value, size_t inline_offset, std::string quarantine)
      : size_bytes_(size_bytes),
        value_(std::move(value)),
        inline_offset_(inline_offset),
        quarantine_(std::move(quarantine)) {}

  uint64_t size_bytes() const override { return size_bytes_; }
  uint64_t version() const override { return 0; }
  absl::string_view quarantine() const override { return quarantine_; }

  absl::StatusOr<absl::string_view> Read(const PieceId& id) override {
    return PartOf(absl::string_view(value_).substr(inline_offset_), size_bytes_, id);
  }

 private:
  const uint64_t size_bytes_;
  const std::string value_;
  const size_t inline_offset_;
  const std::string quarantine_;
};

// Content in rows of its own.
class RowContent : public Content {
 public:
  RowContent(Database& database, const Record& record, Pins::Pin pin, std::string quarantine)
      : database_(database),
        family_(record.placement == Placement::kIngested ? database.ingested() : database.gathered()),
        size_bytes_(record.size_bytes),
        content_id_(record.content_id),
        is_one_row_(IsOneRow(record)),
        pin_(std::move(pin)),
        quarantine_(std::move(quarantine)) {}

  uint64_t size_bytes() const override { return size_bytes_; }
  uint64_t version() const override { return content_id_; }
  absl::string_view quarantine() const override { return quarantine_; }

  absl::StatusOr<absl::string_view> Read(const PieceId& id) override {
    if (!is_one_row_) return ReadRow(id);
    if (piece_.empty()) {
      if (absl::Status status = ReadRow(RowId(0)).status(); !status.ok()) return status;
    }
    return PartOf(ToView(piece_), size_bytes_, id);
  }

 private:
  absl::StatusOr<absl::string_view> ReadRow(const PieceId& id) {
    piece_.Reset();
    rocksdb::ReadOptions options;
    // One large blob would push everything else out of the cache; the file system caches content as well.
    options.fill_cache = id.level > 0;
    const std::string key = PieceKey(content_id_, id);
    const rocksdb::Status status = database_.db().Get(options, family_, ToSlice(key), &piece_);
    if (status.IsNotFound()) return absl::DataLossError("a stored piece is missing");
    if (!status.ok()) return ToStatus(status, "reading a piece of content");
    return ToView(piece_);
  }

  Database& database_;
  rocksdb::ColumnFamilyHandle* const family_;
  const uint64_t size_bytes_;
  const ContentId content_id_;
  const bool is_one_row_;
  const Pins::Pin pin_;
  const std::string quarantine_;
  rocksdb::PinnableSlice piece_;
};

std::string RangeBegin(ContentId content) { return BigEndian64(content); }

absl::Status DropFiles(Database& database, absl::Span<const ContentId> contents) {
  std::vector<std::string> begins;
  std::vector<std::string> ends;
  for (const ContentId content : contents) {
    begins.push_back(RangeBegin(content));
    ends.push_back(RangeBegin(content + 1));
  }
  std::vector<rocksdb::Slice> bounds;
  for (size_t i = 0; i < begins.size(); ++i) {
    bounds.emplace_back(begins[i]);
    bounds.emplace_back(ends[i]);
  }
  std::vector<rocksdb::RangePtr> ranges;
  for (size_t i = 0; i < bounds.size(); i += 2) ranges.emplace_back(&bounds[i], &bounds[i + 1]);
  return ToStatus(
      rocksdb::DeleteFilesInRanges(&database.db(), database.ingested(), ranges.data(), ranges.size(), false),
      "dropping content");
}

absl::Status DropRows(Database& database, Committer& committer, ContentId content) {
  while (true) {
    std::vector<std::string> keys;
    absl::Status status = ScanRows(database, database.ingested(), {.prefix = RangeBegin(content), .limit = kDropSlice},
                                   [&](absl::string_view key, absl::string_view) {
                                     keys.emplace_back(key);
                                     return absl::OkStatus();
                                   });
    if (!status.ok() || keys.empty()) return status;
    status = committer.Commit(
        0,
        [&](Batch& batch) {
          for (const std::string& key : keys) batch.Delete(database.ingested(), key);
          return absl::OkStatus();
        },
        Lane::kBulk);
    if (!status.ok()) return status;
  }
}

}  // namespace

absl::StatusOr<absl::string_view> PartOf(absl::string_view whole, uint64_t size_bytes, const PieceId& id) {
  const size_t page_bytes = PageBytesBefore(size_bytes);
  if (whole.size() != page_bytes + size_bytes) {
    return absl::DataLossError(
        absl::StrCat("there are ", whole.size(), " bytes of content and tree instead of ", page_bytes + size_bytes));
  }
  return id.level == 0 ? whole.substr(page_bytes) : whole.substr(0, page_bytes);
}

std::unique_ptr<Content> InlineContentOf(const RecordRow& row, std::string value, std::string quarantine) {
  const uint64_t size_bytes = row.record.size_bytes;
  const size_t inline_offset = value.size() - row.inline_content.size();
  return std::make_unique<InlineContent>(size_bytes, std::move(value), inline_offset, std::move(quarantine));
}

absl::Status PutWhole(Database& database, ContentIds& ids, Batch& batch, const WholeBlob& blob, const Present& before,
                      ErasedContents& erased) {
  const uint64_t size_bytes = blob.reference.size_bytes;
  absl::string_view page;
  absl::string_view row;
  for (const auto& [id, bytes] : blob.pieces) {
    if (size_bytes <= kRowBytes) (id.level == 0 ? row : page) = bytes;
  }
  Record record;
  record.size_bytes = size_bytes;
  // Up to kInlineBytes there is no page: that is less than a chunk group.
  static_assert(kInlineBytes <= kGroupBytes);
  if (size_bytes <= kInlineBytes) return PutRecord(database, batch, blob.reference, record, row, before, erased);
  record.placement = Placement::kGathered;
  record.content_id = ids.Take();
  ids.Reserve(database, batch);
  if (size_bytes <= kRowBytes) {
    batch.PutContent(database.gathered(), PieceKey(record.content_id, RowId(0)), {page, row});
  } else {
    for (const auto& [id, bytes] : blob.pieces) {
      batch.PutContent(database.gathered(), PieceKey(record.content_id, id), {bytes});
    }
  }
  return PutRecord(database, batch, blob.reference, record, "", before, erased);
}

absl::StatusOr<std::unique_ptr<Content>> OpenContent(Database& database, Pins& pins, const Digest& digest) {
  // Erasing deletes the record before it looks at the pins: so a record that is still the same once its content is
  // pinned cannot have lost its pieces.
  std::optional<Pins::Pin> pin;
  ContentId pinned = 0;
  for (int tries = 0; tries < kOpenTries; ++tries) {
    absl::StatusOr<std::optional<std::string>> value = ReadRow(database, database.records(), digest.view());
    if (!value.ok()) return value.status();
    if (!value->has_value()) return BlobNotFound(digest);
    absl::StatusOr<RecordRow> row = DecodeRecord(digest, **value);
    if (!row.ok()) return row.status();
    const Record& record = row->record;
    std::string quarantine = record.is_quarantined ? QuarantineReason(database, digest) : "";
    if (record.placement == Placement::kInline) {
      return InlineContentOf(*row, **std::move(value), std::move(quarantine));
    }
    if (pin.has_value() && pinned == record.content_id) {
      return std::make_unique<RowContent>(database, record, *std::move(pin), std::move(quarantine));
    }
    pinned = record.content_id;
    pin.emplace(pins, pinned);
  }
  return absl::UnavailableError(
      absl::StrCat("blob ", digest.ToHex(), " was erased and put again ", kOpenTries, " times while it was opened"));
}

absl::StatusOr<bool> HasPieces(Database& database, const Record& record) {
  if (record.placement == Placement::kInline) return true;
  std::vector<PieceId> pieces;
  if (record.placement == Placement::kGathered && record.size_bytes <= kRowBytes) {
    pieces.push_back(RowId(0));
  } else {
    ForEachPiece(record.size_bytes, [&](const PieceId& id) { pieces.push_back(id); });
    std::sort(pieces.begin(), pieces.end());
  }
  rocksdb::ColumnFamilyHandle* const family =
      record.placement == Placement::kIngested ? database.ingested() : database.gathered();
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  for (size_t i = 0; i < pieces.size();) {
    rocksdb::PinnableSlice piece;
    const rocksdb::Status status = database.db().Get(options, family, PieceKey(record.content_id, pieces[i]), &piece);
    if (status.IsNotFound()) return false;
    if (!status.ok()) return ToStatus(status, "reading a piece of content");
    // The last one as well.
    i = i + 1 < pieces.size() ? std::min(i + kPieceStep, pieces.size() - 1) : pieces.size();
  }
  return true;
}

void DeleteGathered(Database& database, Batch& batch, ContentId content, uint64_t size_bytes) {
  if (size_bytes <= kRowBytes) {
    batch.Delete(database.gathered(), PieceKey(content, RowId(0)));
  } else {
    ForEachPiece(size_bytes, [&](const PieceId& id) { batch.Delete(database.gathered(), PieceKey(content, id)); });
  }
}

absl::Status DropIngested(Database& database, Committer& committer, absl::Span<const ContentId> contents) {
  if (contents.empty()) return absl::OkStatus();
  absl::Status status = DropFiles(database, contents);
  for (const ContentId content : contents) {
    if (status.ok()) status = DropRows(database, committer, content);
  }
  return status;
}

}  // namespace coffer::rocks
