// SPDX-License-Identifier: Apache-2.0
//
// Changes to references, back-links and buckets, each over a Batch: they hold the invariant that a back-link
// exists exactly while its reference does (FORMAT.md 4).
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/reference.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/encoding.h"

namespace coffer::rocks {

// The rows of meta() that these changes keep. Numbers are the next ones to give out.
inline constexpr absl::string_view kNextBucketKey = "next_bucket_id";
inline constexpr absl::string_view kNextContentKey = "next_content_id";
// Followed by a bucket id: the bucket is deleted, its references wait to be swept.
inline constexpr absl::string_view kSweepPrefix = "sweep/";
// Followed by a content id: SSTs for it may exist, a record does not.
inline constexpr absl::string_view kIntentPrefix = "intent/";

std::string NumberedKey(absl::string_view prefix, uint64_t number);

// The number under `key`, which is counted up. DATA_LOSS if the row is damaged.
absl::StatusOr<uint64_t> TakeNumber(Database& database, Batch& batch, absl::string_view key, uint64_t count);

absl::StatusOr<std::optional<BucketRow>> FindBucket(Database& database, Batch& batch, absl::string_view bucket);

// The bucket's row, made if it is absent.
absl::StatusOr<BucketRow> EnsureBucket(Database& database, Batch& batch, const Bucket& bucket);

// Points the reference at its digest, whose record has been decoded to `record`, and takes the back-link of what
// it pointed at before.
absl::Status SetReference(Database& database, Batch& batch, const Reference& reference, const Record& record);

// Writes the record of new content, with the reference as its first back-link. `heals`: over a damaged record,
// whose first back-link is not known any more; the new one gets a row of its own then.
absl::Status PutRecord(Database& database, Batch& batch, const Reference& reference, ContentId content,
                       absl::string_view page, absl::string_view row, bool heals);

// Removes a reference by its key. Returns false if there was none.
absl::StatusOr<bool> RemoveReference(Database& database, Batch& batch, BucketId bucket, absl::string_view name);

}  // namespace coffer::rocks
