// SPDX-License-Identifier: Apache-2.0
//
// What a client says about a blob that it puts, checked against what is allowed and against what came.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hashing/digest.h"
#include "storage/reference.h"

namespace coffer {

struct UploadOptions {
  // Empty means "default".
  std::string bucket;
  // Empty means the digest's hex.
  std::string name;
  std::optional<Digest> expected_digest;
  std::optional<uint64_t> declared_size_bytes;
  Metadata metadata;
};

struct PutResult {
  Digest digest;
  uint64_t size_bytes = 0;
  // The content was stored already; only the reference was written.
  bool deduplicated = false;
  // The name that the reference got.
  std::string name;
};

// Fills in the default bucket and lower-cases metadata. INVALID_ARGUMENT for a bad bucket, name or metadata,
// RESOURCE_EXHAUSTED for a declared size above `max_blob_bytes`.
absl::Status NormaliseClaims(UploadOptions& options, uint64_t max_blob_bytes);

// The reference that the content gets. `options` is normalised. INVALID_ARGUMENT if the content has another size or
// digest than was claimed, or if the name is the hex of another digest.
absl::StatusOr<Reference> ReferenceFor(const UploadOptions& options, const Digest& digest, uint64_t size_bytes,
                                       absl::Time now);

}  // namespace coffer
