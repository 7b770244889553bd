// SPDX-License-Identifier: Apache-2.0
//
// One blob on its way in: bytes are hashed and staged as they arrive, and become visible all at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hashing/digest.h"
#include "hashing/tree_hasher.h"
#include "storage/engine.h"
#include "storage/layout.h"
#include "storage/put_claims.h"

namespace coffer {

// Used by one thread at a time. Destroying it without Commit discards everything. Holds about two segments of
// memory (layout.h) plus what TreeHasher and Staging hold, whatever the size of the blob.
class Upload {
 public:
  // Made by BlobStore::BeginUpload, which has checked and normalised `options`. `hashed_in_parallel` counts the uploads
  // that more than one thread has hashed, and outlives this.
  Upload(std::unique_ptr<Staging> staging, UploadOptions options, uint64_t max_blob_bytes, WorkerPool* hash_workers,
         std::function<absl::Time()> now, std::atomic<uint64_t>& hashed_in_parallel);

  // Takes the next bytes, copied before it returns. INVALID_ARGUMENT as soon as the blob is longer than
  // declared; RESOURCE_EXHAUSTED over the blob limit or when the disk is full. After an error only
  // destruction is allowed.
  absl::Status Append(absl::string_view bytes);

  // What a client that did not know it before says of the whole blob; replaces what the options said. Checked by
  // Commit.
  void Claim(uint64_t size_bytes, std::optional<Digest> expected_digest);

  // Whether the client has said, by size or by digest, where the blob ends: otherwise one that was cut off cannot be
  // told from a whole one.
  bool has_claims() const { return options_.declared_size_bytes.has_value() || options_.expected_digest.has_value(); }

  // Publishes the blob and its reference, durably, and returns after the sync. INVALID_ARGUMENT if it is
  // shorter than declared, if its digest is not the expected one, or if the name is the hex of another digest.
  absl::StatusOr<PutResult> Commit();

  uint64_t size_bytes() const { return size_bytes_; }

 private:
  std::unique_ptr<Staging> staging_;
  UploadOptions options_;
  const uint64_t max_blob_bytes_;
  std::function<absl::Time()> now_;
  std::atomic<uint64_t>& hashed_in_parallel_;
  uint64_t size_bytes_ = 0;
  PieceBuilder pieces_;
  TreeHasher hasher_;
};

}  // namespace coffer
