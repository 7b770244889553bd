// SPDX-License-Identifier: Apache-2.0
//
// The rows of the default column family: identity, counters, and notes about what is under way (FORMAT.md 1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/database.h"

namespace coffer::rocks {

inline constexpr absl::string_view kFormatKey = "format";
inline constexpr absl::string_view kStoreIdKey = "store_id";
// How far the scrubber is.
inline constexpr absl::string_view kScrubKey = "scrub";
// The next numbers to give out.
inline constexpr absl::string_view kNextBucketKey = "next_bucket_id";
inline constexpr absl::string_view kNextContentKey = "next_content_id";
// Followed by a bucket id: the bucket is deleted, its references wait to be swept.
inline constexpr absl::string_view kSweepPrefix = "sweep/";
// Followed by a content id: sorted files for it may exist, a record does not.
inline constexpr absl::string_view kIntentPrefix = "intent/";
// Followed by a content id: its record was erased, its pieces may still exist.
inline constexpr absl::string_view kErasedPrefix = "erased/";

std::string SweepKey(uint64_t bucket);
std::string IntentKey(uint64_t content);
std::string ErasedKey(uint64_t content);

// The numbers that stand behind `prefix`. UNAVAILABLE.
absl::StatusOr<std::vector<uint64_t>> NumbersUnder(Database& database, absl::string_view prefix);

// The number under `key`, which is counted up; the first is 1. DATA_LOSS if the row is damaged, UNAVAILABLE.
absl::StatusOr<uint64_t> TakeNumber(Database& database, Batch& batch, absl::string_view key);

}  // namespace coffer::rocks
