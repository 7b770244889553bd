// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tests/contract/store_under_test.h"

namespace coffer {
namespace {

class ReadInProcess : public OpenRead {
 public:
  explicit ReadInProcess(std::unique_ptr<BlobReader> reader) : reader_(std::move(reader)) {}

  absl::StatusOr<std::string> Next(size_t max_bytes) override {
    std::string bytes(max_bytes, '\0');
    absl::StatusOr<size_t> got = reader_->Read(absl::MakeSpan(&bytes[0], bytes.size()));
    if (!got.ok()) return got.status();
    bytes.resize(*got);
    return bytes;
  }

 private:
  const std::unique_ptr<BlobReader> reader_;
};

class InProcess : public StoreUnderTest {
 public:
  InProcess(std::unique_ptr<Engine> engine, std::shared_ptr<void> kept)
      : kept_(std::move(kept)),
        workers_(2),
        engine_(*engine),
        store_(std::move(engine), {.hash_workers = &workers_, .grace = absl::ZeroDuration()}) {}

  absl::StatusOr<PutResult> Put(const PutCall& call, const std::string& content) override {
    absl::StatusOr<std::unique_ptr<Upload>> upload = store_.BeginUpload(call.options);
    if (!upload.ok()) return upload.status();
    const size_t end = std::min(call.fail_after_bytes.value_or(content.size()), content.size());
    for (size_t begin = 0; begin < end; begin += call.piece_bytes) {
      const size_t length = std::min(call.piece_bytes, end - begin);
      if (absl::Status status = (*upload)->Append(absl::string_view(content).substr(begin, length)); !status.ok()) {
        return status;
      }
    }
    if (call.fail_after_bytes.has_value()) return absl::CancelledError("the source failed");
    return (*upload)->Commit();
  }

  std::vector<absl::StatusOr<PutResult>> PutBatch(const std::vector<BatchItem>& items) override {
    return store_.PutBatch(items);
  }
  std::vector<absl::StatusOr<BatchBlob>> GetBatch(const std::vector<BlobSelector>& blobs) override {
    return store_.GetBatch(blobs);
  }

  absl::StatusOr<std::unique_ptr<OpenRead>> Open(const BlobSelector& blob, ByteRange range) override {
    absl::StatusOr<std::unique_ptr<BlobReader>> reader = store_.Open(blob, range);
    if (!reader.ok()) return reader.status();
    return std::make_unique<ReadInProcess>(*std::move(reader));
  }

  absl::StatusOr<BlobInfo> Stat(const BlobSelector& blob) override { return store_.Stat(blob); }
  absl::StatusOr<std::vector<Digest>> FindMissing(const std::vector<Digest>& digests) override {
    return store_.FindMissing("", digests);
  }
  absl::StatusOr<Reference> Bind(const std::string& bucket, const std::string& name, const Digest& digest,
                                 const Metadata& metadata) override {
    return store_.Bind(bucket, name, digest, metadata);
  }
  absl::StatusOr<Reference> Resolve(const std::string& bucket, const std::string& name) override {
    return store_.Resolve(bucket, name);
  }
  absl::StatusOr<ReferencePage> List(const std::string& bucket, const std::string& prefix, const std::string& cursor,
                                     uint32_t limit) override {
    return store_.List(bucket, prefix, cursor, limit);
  }
  absl::StatusOr<uint64_t> Delete(const std::string& bucket, const std::vector<std::string>& names) override {
    return store_.Delete(bucket, names);
  }
  absl::StatusOr<bool> CreateBucket(const std::string& bucket) override { return store_.CreateBucket(bucket); }
  absl::StatusOr<bool> DeleteBucket(const std::string& bucket) override { return store_.DeleteBucket(bucket); }
  absl::StatusOr<BucketPage> ListBuckets(const std::string& cursor, uint32_t limit) override {
    return store_.ListBuckets(cursor, limit);
  }

  absl::StatusOr<std::vector<Digest>> Lease(const std::string& bucket, const std::vector<Digest>& digests,
                                            absl::Duration duration) override {
    return store_.Lease(bucket, digests, duration);
  }

  absl::StatusOr<std::vector<VerifyFinding>> VerifyAll() override {
    std::vector<VerifyFinding> findings;
    VerifyObserver observer;
    observer.progress = [](const VerifyProgress&) { return true; };
    observer.finding = [&](const VerifyFinding& finding) { findings.push_back(finding); };
    if (absl::Status status = store_.VerifyAll(observer); !status.ok()) return status;
    return findings;
  }

  absl::StatusOr<Erasure> Collect(bool dry_run) override { return store_.Collect(dry_run); }
  absl::StatusOr<ScrubStatus> Scrub() override {
    if (absl::Status status = store_.scrubber().SetRate(0); !status.ok()) return status;
    if (absl::Status status = store_.scrubber().RunCycle(); !status.ok()) return status;
    return store_.scrubber().status();
  }
  absl::StatusOr<Quarantining> Quarantine(const Digest& digest, std::optional<uint64_t> version) override {
    return QuarantineStored(engine_, digest, version);
  }
  EngineStatus GetStatus() override { return store_.GetStatus(); }

 private:
  const std::shared_ptr<void> kept_;
  WorkerPool workers_;
  Engine& engine_;
  BlobStore store_;
};

}  // namespace

absl::StatusOr<Quarantining> QuarantineStored(Engine& engine, const Digest& digest, std::optional<uint64_t> version) {
  if (!version.has_value()) {
    absl::StatusOr<std::unique_ptr<Content>> content = engine.Open(digest);
    if (!content.ok()) return content.status();
    version = (*content)->version();
  }
  return engine.Quarantine(digest, *version, "a test says so");
}

std::unique_ptr<StoreUnderTest> StoreInProcess(std::unique_ptr<Engine> engine, std::shared_ptr<void> kept) {
  return std::make_unique<InProcess>(std::move(engine), std::move(kept));
}

}  // namespace coffer
