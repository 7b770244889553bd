// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/rocks_content.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/rows.h"

namespace coffer::rocks {
namespace {

// A small blob: the whole of it came with the record.
class InlineContent : public Content {
 public:
  // `inline_pieces` points into `value`.
  InlineContent(uint64_t size_bytes, std::string value, size_t inline_offset)
      : size_bytes_(size_bytes), value_(std::move(value)), inline_offset_(inline_offset) {}

  uint64_t size_bytes() const override { return size_bytes_; }

  absl::StatusOr<absl::string_view> Read(const PieceId& id) override {
    const absl::string_view pieces = absl::string_view(value_).substr(inline_offset_);
    const size_t page_bytes = size_bytes_ == 0 ? 0 : (PageUnits(1, 0, size_bytes_) - 1) * kParentBytes;
    if (pieces.size() != page_bytes + size_bytes_) {
      return absl::DataLossError(absl::StrCat("the record holds ", pieces.size(),
                                              " bytes of content and tree instead of ", page_bytes + size_bytes_));
    }
    return id.level == 0 ? pieces.substr(page_bytes) : pieces.substr(0, page_bytes);
  }

 private:
  const uint64_t size_bytes_;
  const std::string value_;
  const size_t inline_offset_;
};

// Content in rows of its own.
class RowContent : public Content {
 public:
  RowContent(Database& database, const Record& record)
      : database_(database), size_bytes_(record.size_bytes), content_id_(record.content_id) {}

  uint64_t size_bytes() const override { return size_bytes_; }

  absl::StatusOr<absl::string_view> Read(const PieceId& id) override {
    piece_.Reset();
    rocksdb::ReadOptions options;
    // One large blob would push everything else out of the cache; the file system caches content as well.
    options.fill_cache = id.level > 0;
    const std::string key = PieceKey(content_id_, id);
    const rocksdb::Status status = database_.db().Get(options, database_.content(), ToSlice(key), &piece_);
    if (status.IsNotFound()) return absl::DataLossError("a stored piece is missing");
    if (!status.ok()) return ToStatus(status, "reading a piece of content");
    return ToView(piece_);
  }

 private:
  Database& database_;
  const uint64_t size_bytes_;
  const ContentId content_id_;
  rocksdb::PinnableSlice piece_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Content>> OpenContent(Database& database, const Digest& digest) {
  absl::StatusOr<std::optional<std::string>> value = ReadRow(database, database.records(), digest.view());
  if (!value.ok()) return value.status();
  if (!value->has_value()) return BlobNotFound(digest);
  absl::StatusOr<RecordRow> row = DecodeRecord(digest, **value);
  if (!row.ok()) return row.status();
  if (row->record.content_id != kInline) return std::make_unique<RowContent>(database, row->record);
  const size_t inline_offset = (*value)->size() - row->inline_pieces.size();
  return std::make_unique<InlineContent>(row->record.size_bytes, **std::move(value), inline_offset);
}

}  // namespace coffer::rocks
