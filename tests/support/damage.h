// SPDX-License-Identifier: Apache-2.0
//
// Damage that no checksum of the database sees: a stored value is changed through RocksDB itself. The store
// must be closed meanwhile.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hashing/digest.h"
#include "storage/layout.h"

namespace coffer {

// Flips bit 0 of byte `offset` of the stored record of `digest`. A negative offset counts from the end, also below.
absl::Status DamageRecord(const std::string& data_dir, const Digest& digest, int64_t offset);

// Flips bit 0 of byte `offset` of the row in which the content of a small blob (up to 64 KiB) ends: its record or a row
// of its own.
absl::Status DamageSmall(const std::string& data_dir, const Digest& digest, int64_t offset);

// Flips bit 0 of byte `offset` of a piece of a larger blob.
absl::Status DamagePiece(const std::string& data_dir, const Digest& digest, const PieceId& piece, int64_t offset);

// Flips bit 0 of byte `offset` of the row of a reference.
absl::Status DamageReference(const std::string& data_dir, const std::string& bucket, const std::string& name,
                             int64_t offset);

// Removes one row of the database: a back-link that is not the first of its content, a reference, a record.
absl::Status RemoveLink(const std::string& data_dir, const Digest& digest, const std::string& bucket,
                        const std::string& name);
absl::Status RemoveReferenceRow(const std::string& data_dir, const std::string& bucket, const std::string& name);
absl::Status RemoveRecordRow(const std::string& data_dir, const Digest& digest);

// Writes a store's format number, as another program would have.
absl::Status SetFormat(const std::string& data_dir, uint64_t format);

// Leaves what a crash between ingesting and publishing leaves: rows of content and the intent that names them.
absl::Status PlantUnpublishedContent(const std::string& data_dir, uint64_t content_id);

// Leaves what a crash in the middle of deleting a bucket leaves: the bucket is gone, its references are not.
absl::Status PlantHalfDeletedBucket(const std::string& data_dir, const std::string& bucket);

// How many rows of content, and how many notes of unfinished work, there are.
struct LeftRows {
  size_t content = 0;
  size_t notes = 0;
  size_t references = 0;
};
absl::StatusOr<LeftRows> CountRows(const std::string& data_dir);

}  // namespace coffer
