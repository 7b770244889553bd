// SPDX-License-Identifier: Apache-2.0
#include "storage/put_claims.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/names.h"

namespace coffer {

absl::Status NormaliseClaims(UploadOptions& options, uint64_t max_blob_bytes) {
  if (options.bucket.empty()) options.bucket = std::string(kDefaultBucket);
  if (absl::Status status = CheckBucket(options.bucket); !status.ok()) return status;
  if (!options.name.empty()) {
    if (absl::Status status = CheckName(options.name); !status.ok()) return status;
  }
  absl::StatusOr<Metadata> metadata = NormaliseMetadata(options.metadata);
  if (!metadata.ok()) return metadata.status();
  options.metadata = *std::move(metadata);
  const uint64_t declared = options.declared_size_bytes.value_or(0);
  if (declared <= max_blob_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the declared size of ", declared, " bytes is above ", max_blob_bytes, ", the limit for a blob"));
}

absl::StatusOr<Reference> ReferenceFor(const UploadOptions& options, const Digest& digest, uint64_t size_bytes,
                                       absl::Time now) {
  if (options.declared_size_bytes.has_value() && size_bytes != *options.declared_size_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the upload has ", size_bytes, " bytes, but its declared size is ", *options.declared_size_bytes));
  }
  if (options.expected_digest.has_value() && !(digest == *options.expected_digest)) {
    return absl::InvalidArgumentError(absl::StrCat("the content's digest is ", digest.ToHex(), ", not the expected ",
                                                   options.expected_digest->ToHex()));
  }
  Reference reference;
  reference.bucket = options.bucket;
  reference.name = options.name.empty() ? digest.ToHex() : options.name;
  reference.digest = digest;
  reference.size_bytes = size_bytes;
  reference.metadata = options.metadata;
  reference.created = now;
  if (absl::Status status = CheckNameFits(reference.name, digest); !status.ok()) return status;
  return reference;
}

}  // namespace coffer
