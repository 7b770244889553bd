// SPDX-License-Identifier: Apache-2.0
//
// Changes to references, back-links and buckets, each over a Batch: they hold the invariant that a back-link
// exists exactly while its reference does (FORMAT.md 4). Each may fail with DATA_LOSS, if a row that it needs is
// damaged, and UNAVAILABLE, if the disk does not answer; the operation that called it fails then as a whole.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/reference.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/meta_rows.h"

namespace coffer::rocks {

// Values of the links family. A record's first back-link is in the record; when that one goes, it is marked as
// gone rather than the record rewritten with its inline content.
inline constexpr absl::string_view kLinked = "+";
inline constexpr absl::string_view kFirstLinkGone = "-";

// What stands under a digest.
struct Present {
  // Also of content that is quarantined.
  std::optional<Record> record;
  // There is a row, but it cannot be believed: a put heals it.
  bool is_damaged = false;

  // Otherwise a put brings content.
  bool is_stored() const { return record.has_value() && !record->is_quarantined; }
};

absl::StatusOr<Present> FindRecord(Database& database, Batch& batch, const Digest& digest);

absl::StatusOr<std::optional<BucketRow>> FindBucket(Database& database, Batch& batch, absl::string_view bucket);

// The bucket's row, made if it is absent.
absl::StatusOr<BucketRow> EnsureBucket(Database& database, Batch& batch, const Bucket& bucket);

// Writes the back-link of a reference, in the way that `record`, that of `digest`, demands.
void AddLink(Database& database, Batch& batch, const Digest& digest, const Record& record, BucketId bucket,
             absl::string_view name);

// Points the reference at its digest, whose record has been decoded to `record`, and takes the back-link of what
// it pointed at before.
absl::Status SetReference(Database& database, Batch& batch, const Reference& reference, const Record& record);

// Content whose pieces wait to be removed.
using ErasedContents = std::map<ContentId, Erased>;

// Writes the record of new content, with the reference. `before` is what stands under the digest, and is not stored:
//   nothing: the reference is the first back-link;
//   a quarantined record: its first back-link goes on, and its pieces are to be removed: they are added to `erased`,
//   for
//     the reclaimer to know once the batch is written;
//   a damaged one: the first back-link is not known any more; the new reference gets a row of its own.
// `record` comes without a first back-link.
absl::Status PutRecord(Database& database, Batch& batch, const Reference& reference, Record record,
                       absl::string_view inline_content, const Present& before, ErasedContents& erased);

// Notes that the pieces of `record`, which goes with this batch, are to be removed (FORMAT.md 7).
void NoteErased(Database& database, Batch& batch, const Record& record, ErasedContents& erased);

// Removes a reference by its key. Returns false if there was none. What it named is condemned (FORMAT.md 7).
absl::StatusOr<bool> RemoveReference(Database& database, Batch& batch, BucketId bucket, absl::string_view name);

// Whether any reference names the digest of `record`.
absl::StatusOr<bool> IsLinked(Database& database, Batch& batch, const Digest& digest, const Record& record);

// Removes the record of content that is not linked, with what the links family still says about it. Its pieces stay.
absl::Status RemoveRecord(Database& database, Batch& batch, const Digest& digest, const Record& record);

}  // namespace coffer::rocks
