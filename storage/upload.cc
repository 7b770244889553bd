// SPDX-License-Identifier: Apache-2.0
//
//   1. Append hashes the bytes and cuts them into pieces; the hasher's parents go into the pages.
//   2. Pieces that are complete go to the engine's staging at once, so memory stays bounded.
//   3. Commit finishes the hash, checks what the client claimed, stages the rest and publishes.
#include "storage/upload.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "hashing/bytes.h"

namespace coffer {

Upload::Upload(std::unique_ptr<Staging> staging, UploadOptions options, uint64_t max_blob_bytes,
               WorkerPool* hash_workers, std::function<absl::Time()> now, std::atomic<uint64_t>& hashed_in_parallel)
    : staging_(std::move(staging)),
      options_(std::move(options)),
      max_blob_bytes_(max_blob_bytes),
      now_(std::move(now)),
      hashed_in_parallel_(hashed_in_parallel),
      hasher_(hash_workers, [this](int height, const ParentNode& node) { pieces_.AddParent(height, node); }) {}

absl::Status Upload::Append(absl::string_view bytes) {
  const uint64_t size_bytes = size_bytes_ + bytes.size();
  if (options_.declared_size_bytes.has_value() && size_bytes > *options_.declared_size_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the upload is longer than its declared size of ", *options_.declared_size_bytes, " bytes"));
  }
  if (size_bytes > max_blob_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the upload has more than ", max_blob_bytes_, " bytes, the limit for a blob"));
  }
  size_bytes_ = size_bytes;
  // Step by step, so that a huge piece does not need its own size in memory again.
  while (!bytes.empty()) {
    const absl::string_view step = bytes.substr(0, kSegmentBytes);
    bytes.remove_prefix(step.size());
    pieces_.AddBytes(step);
    hasher_.Append(BytesOf(step));
    absl::Status status =
        pieces_.TakeComplete([this](const PieceId& id, absl::string_view piece) { return staging_->Add(id, piece); });
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void Upload::Claim(uint64_t size_bytes, std::optional<Digest> expected_digest) {
  options_.declared_size_bytes = size_bytes;
  if (expected_digest.has_value()) options_.expected_digest = expected_digest;
}

absl::StatusOr<PutResult> Upload::Commit() {
  const Digest digest = hasher_.Finish();
  if (hasher_.hashing_threads() > 1) ++hashed_in_parallel_;
  absl::StatusOr<Reference> reference = ReferenceFor(options_, digest, size_bytes_, now_());
  if (!reference.ok()) return reference.status();
  absl::Status status =
      pieces_.TakeRest([this](const PieceId& id, absl::string_view piece) { return staging_->Add(id, piece); });
  if (!status.ok()) return status;
  absl::StatusOr<bool> deduplicated = staging_->Publish(*reference);
  if (!deduplicated.ok()) return deduplicated.status();
  return PutResult{digest, size_bytes_, *deduplicated, std::move(reference->name)};
}

}  // namespace coffer
