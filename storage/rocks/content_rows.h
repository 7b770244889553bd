// SPDX-License-Identifier: Apache-2.0
//
// The pieces of blobs as rows (FORMAT.md 6): how they are put, read and removed.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "storage/engine.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/content_ids.h"
#include "storage/rocks/database.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/pins.h"
#include "storage/rocks/reference_rows.h"

namespace coffer::rocks {

// The most bytes of content that stand in the record itself: up to here a row of its own costs more than carrying the
// bytes along when the records, which are in no useful order, are compacted (FORMAT.md 6 has the measurement).
inline constexpr uint64_t kInlineBytes = 512;

// Adds the record and the pieces of a blob to a batch, with its reference. `before` and `erased`: as for PutRecord.
// DATA_LOSS, UNAVAILABLE.
absl::Status PutWhole(Database& database, ContentIds& ids, Batch& batch, const WholeBlob& blob, const Present& before,
                      ErasedContents& erased);

// What of a blob of at most kRowBytes is asked for with `id`. `whole` is its page, if it has one, and its row, as they
// are stored together. DATA_LOSS if there are not as many bytes as there should be.
absl::StatusOr<absl::string_view> PartOf(absl::string_view whole, uint64_t size_bytes, const PieceId& id);

// Whether that is how the blob is stored.
inline bool IsOneRow(const Record& record) {
  return record.placement == Placement::kGathered && record.size_bytes <= kRowBytes;
}

// The content of a record that has it inline. `value` is the whole row.
std::unique_ptr<Content> InlineContentOf(const RecordRow& row, std::string value, std::string quarantine);

// Opens the content of a record for reading, and pins it. NOT_FOUND, DATA_LOSS if the record is damaged, UNAVAILABLE.
absl::StatusOr<std::unique_ptr<Content>> OpenContent(Database& database, Pins& pins, const Digest& digest);

// Whether the content of a record is there, from the first piece to the last, without reading all of it. DATA_LOSS,
// UNAVAILABLE.
absl::StatusOr<bool> HasPieces(Database& database, const Record& record);

// Removes gathered pieces.
void DeleteGathered(Database& database, Batch& batch, ContentId content, uint64_t size_bytes);

// Removes the ingested pieces of several ids that no record names and nobody reads: whole files first, then the rows
// in files that hold other content as well, slice by slice as bulk work. RESOURCE_EXHAUSTED, DATA_LOSS, UNAVAILABLE.
absl::Status DropIngested(Database& database, Committer& committer, absl::Span<const ContentId> contents);

}  // namespace coffer::rocks
