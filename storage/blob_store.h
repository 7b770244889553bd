// SPDX-License-Identifier: Apache-2.0
//
// The content-addressed store, written once over the Engine seam: everything that users may rely on stands
// in this header. Bucket, name, metadata and range are checked here and nowhere below.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "hashing/digest.h"
#include "hashing/worker_pool.h"
#include "storage/batch.h"
#include "storage/blob_reader.h"
#include "storage/collector.h"
#include "storage/engine.h"
#include "storage/reference.h"
#include "storage/scrub.h"
#include "storage/scrubber.h"
#include "storage/upload.h"
#include "storage/verifier.h"

namespace coffer {

struct BlobInfo {
  Digest digest;
  uint64_t size_bytes = 0;
  // Set if the blob was selected by name.
  std::optional<Reference> reference;
};

struct ReferencePage {
  std::vector<Reference> references;
  // The name to continue after; empty on the last page.
  std::string next_cursor;
};

struct BucketPage {
  std::vector<Bucket> buckets;
  // The bucket to continue after; empty on the last page.
  std::string next_cursor;
};

// Thread-safe. Every call blocks until the disk has answered: run it on a thread that may wait. Besides the
// codes named below, each call may return INVALID_ARGUMENT (a bucket, name or metadata that names.h does not
// allow), RESOURCE_EXHAUSTED (disk at its low-water mark), DATA_LOSS (a stored row is damaged) and UNAVAILABLE (the
// disk failed and the engine accepts nothing more).
class BlobStore {
 public:
  struct Options {
    // Borrowed, may be null: hashes on the calling thread then.
    WorkerPool* hash_workers = nullptr;
    // Longer uploads get RESOURCE_EXHAUSTED.
    uint64_t max_blob_bytes = uint64_t{1} << 40;
    // Content that lost its last reference stays this long, in time that the store is served.
    absl::Duration grace = absl::Minutes(15);
    // Reclaim garbage by a thread of the store's own, which reports here what fails. Null: only Collect does.
    std::function<void(const absl::Status&)> report_collector = nullptr;
    // Where backups go; empty: there are none.
    std::string backup_dir = {};
    // Check what is stored by a thread of the store's own.
    bool scrubs = false;
    // Hears of what the scrubber finds; from any thread. May be empty.
    std::function<void(const VerifyFinding&)> report_finding = {};
    // How much it looks at together.
    ScanLimits scrub_page = {};
    // Stamps references and buckets; replaced in tests.
    std::function<absl::Time()> now = absl::Now;
  };

  BlobStore(std::unique_ptr<Engine> engine, Options options);

  // Starts an upload; nothing of it is visible before Upload::Commit. RESOURCE_EXHAUSTED for a declared size above
  // the limit.
  absl::StatusOr<std::unique_ptr<Upload>> BeginUpload(UploadOptions options);

  // Puts many small blobs, all that can be put in one commit, and answers for each in order (batch.h). With more than
  // kMaxBatch items or kMaxBatchBytes of content every item gets INVALID_ARGUMENT.
  std::vector<absl::StatusOr<PutResult>> PutBatch(absl::Span<const BatchItem> items);

  // Gets many small blobs whole and verified, each on its own (batch.h). With more than kMaxBatch selectors every
  // one gets INVALID_ARGUMENT.
  std::vector<absl::StatusOr<BatchBlob>> GetBatch(absl::Span<const BlobSelector> blobs);

  // Opens a range of a blob for one pass of verified reading. DATA_LOSS, saying why, if the blob is quarantined. Damage
  // that is read makes the scrubber look at the blob. The reader pins what it reads: later deletes and
  // overwrites do not touch it. NOT_FOUND; INVALID_ARGUMENT if the range starts behind the end.
  absl::StatusOr<std::unique_ptr<BlobReader>> Open(const BlobSelector& blob, ByteRange range);

  // Size and reference, no content. NOT_FOUND.
  absl::StatusOr<BlobInfo> Stat(const BlobSelector& blob);

  // Those of `digests` that are not stored, in order, each once; what is quarantined or has a damaged record counts as
  // missing, for putting it heals it. INVALID_ARGUMENT above kMaxFindMissing.
  absl::StatusOr<std::vector<Digest>> FindMissing(absl::string_view bucket, absl::Span<const Digest> digests);

  // Points (bucket, name) at stored content, making the bucket; an empty name means the digest's hex. Replaces
  // an older reference of that name in one step. NOT_FOUND if the content is not stored.
  absl::StatusOr<Reference> Bind(std::string bucket, std::string name, const Digest& digest, Metadata metadata);

  // NOT_FOUND.
  absl::StatusOr<Reference> Resolve(absl::string_view bucket, absl::string_view name);

  // References in byte order of names that start with `prefix` and come after `cursor`. NOT_FOUND if there is
  // no such bucket; INVALID_ARGUMENT if `limit` is above kMaxPage (0 means kDefaultPage).
  absl::StatusOr<ReferencePage> List(absl::string_view bucket, absl::string_view prefix, absl::string_view cursor,
                                     uint32_t limit);

  // Removes names; absent ones, or an absent bucket, are fine. Returns how many existed.
  absl::StatusOr<uint64_t> Delete(absl::string_view bucket, absl::Span<const std::string> names);

  // Returns false if it existed.
  absl::StatusOr<bool> CreateBucket(absl::string_view bucket);

  // Every name in it is gone when this returns. Returns false if it did not exist.
  absl::StatusOr<bool> DeleteBucket(absl::string_view bucket);

  absl::StatusOr<BucketPage> ListBuckets(absl::string_view cursor, uint32_t limit);

  // Keeps what is stored of `digests` alive for `duration` of served time without a reference, for `bucket`, which is
  // made if it does not exist: no delete takes it before, but that of the bucket. Returns what is not stored and so not
  // leased, in order, each once. INVALID_ARGUMENT above kMaxFindMissing, and for a duration that is not 1 second to
  // kMaxLease. After another error some may be leased.
  absl::StatusOr<std::vector<Digest>> Lease(absl::string_view bucket, absl::Span<const Digest> digests,
                                            absl::Duration duration);

  // Check every byte of: a range of one blob; all that a bucket names; the whole store. Damage goes to
  // observer.finding and the call still returns OK (verifier.h), and what is damaged on the disk is quarantined;
  // NOT_FOUND if the blob or bucket does not exist.
  absl::Status VerifyBlob(const BlobSelector& blob, ByteRange range, const VerifyObserver& observer);
  absl::Status VerifyBucket(absl::string_view bucket, const VerifyObserver& observer);
  absl::Status VerifyAll(const VerifyObserver& observer);

  // Reclaims what is garbage now (collector.h), or with `dry_run` only tells what would be.
  absl::StatusOr<Erasure> Collect(bool dry_run) { return collector_.Collect(dry_run); }

  // Makes a backup of the whole store in the backup directory. INVALID_ARGUMENT if the name is not 1 to 255 of
  // [A-Za-z0-9._-] without a dot at the start; FAILED_PRECONDITION if there is no backup directory; ALREADY_EXISTS;
  // DATA_LOSS, and no backup, if something in the store is damaged.
  absl::StatusOr<BackupSummary> Backup(absl::string_view name);

  // Checks everything on the disk, and decides what is quarantined (scrubber.h).
  Scrubber& scrubber() { return scrubber_; }

  // How many blobs are quarantined: content that failed a check and was not put again since. Counts to kMaxQuarantined.
  absl::StatusOr<uint64_t> CountQuarantined();

  EngineStatus GetStatus() const;

  // Since the start: uploads that more than one thread has hashed.
  uint64_t hashed_in_parallel() const { return hashed_in_parallel_; }

  static constexpr uint32_t kDefaultPage = 1000;
  static constexpr uint32_t kMaxPage = 10000;
  static constexpr size_t kMaxFindMissing = 32768;
  // Whoever has more has lost the disk.
  static constexpr uint64_t kMaxQuarantined = 100'000;
  // A client that needs longer renews it; an abandoned one shall not keep garbage for ever.
  static constexpr absl::Duration kMaxLease = absl::Hours(7 * 24);
  static constexpr size_t kMaxDelete = 1024;

 private:
  struct Opened {
    Digest digest;
    std::optional<Reference> reference;
    std::unique_ptr<Content> content;
    // Resolved: within the blob.
    ByteRange range;
  };

  absl::StatusOr<Opened> OpenContent(const BlobSelector& blob, ByteRange range);
  // The same to be read: DATA_LOSS for what is quarantined.
  absl::StatusOr<Opened> OpenSound(const BlobSelector& blob, ByteRange range);
  Verifier VerifierFor(const VerifyObserver& observer);

  const std::unique_ptr<Engine> engine_;
  const Options options_;
  std::atomic<uint64_t> hashed_in_parallel_ = 0;
  Collector collector_;
  Scrubber scrubber_;
};

}  // namespace coffer
