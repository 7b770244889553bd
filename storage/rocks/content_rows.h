// SPDX-License-Identifier: Apache-2.0
//
// The pieces of blobs as rows (FORMAT.md 6): how they are put, read and removed.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "storage/engine.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/content_ids.h"
#include "storage/rocks/database.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/pins.h"

namespace coffer::rocks {

// The most bytes of content that stand in the record itself: up to here a row of its own costs more than carrying the
// bytes along when the records, which are in no useful order, are compacted (FORMAT.md 6 has the measurement).
inline constexpr uint64_t kInlineBytes = 512;

// Adds the record and the pieces of a blob to a batch, with its reference. `heals`: the digest has a record that cannot
// be read. DATA_LOSS, UNAVAILABLE.
absl::Status PutWhole(Database& database, ContentIds& ids, Batch& batch, const WholeBlob& blob, bool heals);

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
