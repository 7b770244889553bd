// SPDX-License-Identifier: Apache-2.0
//
// What the contract suite asks of a store, so that one suite runs over every engine and over the wire.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/blob_store.h"

namespace coffer {

// Reads an opened blob piece by piece.
class OpenRead {
 public:
  virtual ~OpenRead() = default;
  // The next bytes, about `max_bytes` of them; empty at the end.
  virtual absl::StatusOr<std::string> Next(size_t max_bytes) = 0;
};

class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;

  // Sends `content` in pieces of `piece_bytes`. If `fail_after_bytes` is set the source breaks there and the upload
  // is abandoned; the result is then CANCELLED.
  struct PutCall {
    UploadOptions options;
    size_t piece_bytes = 256 * 1024;
    std::optional<size_t> fail_after_bytes;
  };
  virtual absl::StatusOr<PutResult> Put(const PutCall& call, const std::string& content) = 0;
  virtual std::vector<absl::StatusOr<PutResult>> PutBatch(const std::vector<BatchItem>& items) = 0;
  // Digest and bytes, or what is wrong, for each.
  virtual std::vector<absl::StatusOr<BatchBlob>> GetBatch(const std::vector<BlobSelector>& blobs) = 0;
  virtual absl::StatusOr<std::unique_ptr<OpenRead>> Open(const BlobSelector& blob, ByteRange range) = 0;
  virtual absl::StatusOr<BlobInfo> Stat(const BlobSelector& blob) = 0;
  virtual absl::StatusOr<std::vector<Digest>> FindMissing(const std::vector<Digest>& digests) = 0;
  virtual absl::StatusOr<Reference> Bind(const std::string& bucket, const std::string& name, const Digest& digest,
                                         const Metadata& metadata) = 0;
  virtual absl::StatusOr<Reference> Resolve(const std::string& bucket, const std::string& name) = 0;
  virtual absl::StatusOr<ReferencePage> List(const std::string& bucket, const std::string& prefix,
                                             const std::string& cursor, uint32_t limit) = 0;
  virtual absl::StatusOr<uint64_t> Delete(const std::string& bucket, const std::vector<std::string>& names) = 0;
  virtual absl::StatusOr<bool> CreateBucket(const std::string& bucket) = 0;
  virtual absl::StatusOr<bool> DeleteBucket(const std::string& bucket) = 0;
  virtual absl::StatusOr<BucketPage> ListBuckets(const std::string& cursor, uint32_t limit) = 0;
  virtual absl::StatusOr<std::vector<Digest>> Lease(const std::string& bucket, const std::vector<Digest>& digests,
                                                    absl::Duration duration) = 0;
  // All findings of a verification of the whole store.
  virtual absl::StatusOr<std::vector<VerifyFinding>> VerifyAll() = 0;
  // The stores under test have no grace period: what lost its last reference is collected at once.
  virtual absl::StatusOr<Erasure> Collect(bool dry_run) = 0;
  // Runs at least one whole cycle of the scrubber, as fast as it can.
  virtual absl::StatusOr<ScrubStatus> Scrub() = 0;
  // Quarantines content through the engine, whatever is stored; with `version`, only that.
  virtual absl::StatusOr<Quarantining> Quarantine(const Digest& digest, std::optional<uint64_t> version = {}) = 0;
  virtual EngineStatus GetStatus() = 0;
};

// StoreUnderTest::Quarantine.
absl::StatusOr<Quarantining> QuarantineStored(Engine& engine, const Digest& digest, std::optional<uint64_t> version);

// The store itself, in this process; `kept` goes after it.
std::unique_ptr<StoreUnderTest> StoreInProcess(std::unique_ptr<Engine> engine, std::shared_ptr<void> kept = nullptr);

}  // namespace coffer
