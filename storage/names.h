// SPDX-License-Identifier: Apache-2.0
//
// What a bucket, a name and metadata may look like. Every error is INVALID_ARGUMENT with the offending value
// and the limit.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hashing/digest.h"
#include "storage/reference.h"

namespace coffer {

inline constexpr absl::string_view kDefaultBucket = "default";
inline constexpr size_t kMaxBucketBytes = 255;
inline constexpr size_t kMaxNameBytes = 1024;
inline constexpr size_t kMaxMetadataPairs = 64;
inline constexpr size_t kMaxMetadataKeyBytes = 128;
inline constexpr size_t kMaxMetadataValueBytes = 1024;
// Keys and values together.
inline constexpr size_t kMaxMetadataBytes = 8 * 1024;

// 1-255 bytes of UTF-8 without "/" and control characters.
absl::Status CheckBucket(absl::string_view bucket);

// 1-1024 bytes of UTF-8 without NUL.
absl::Status CheckName(absl::string_view name);

// A name of 64 lower-case hex digits must be that of `digest`.
absl::Status CheckNameFits(absl::string_view name, const Digest& digest);

// Returns `metadata` with lower-cased keys.
absl::StatusOr<Metadata> NormaliseMetadata(const Metadata& metadata);

// 1-255 of [A-Za-z0-9._-] without a dot at the start: the name of a backup.
absl::Status CheckBackupName(absl::string_view name);

// For messages: escaped, and cut after 80 bytes with its length.
std::string Quoted(absl::string_view value);

}  // namespace coffer
