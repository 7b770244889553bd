// SPDX-License-Identifier: Apache-2.0
#include "storage/memory/memory_engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "storage/scrub.h"

namespace coffer {
namespace {

struct Pieces {
  std::map<PieceId, std::string> by_id;
  uint64_t size_bytes = 0;
  // Content::version.
  uint64_t version = 0;
};

class MemoryEngine;

class MemoryStaging : public Staging {
 public:
  explicit MemoryStaging(MemoryEngine& engine) : engine_(engine) {}
  ~MemoryStaging() override;

  absl::Status Add(const PieceId& id, absl::string_view bytes) override;
  absl::StatusOr<bool> Publish(const Reference& reference) override;

 private:
  MemoryEngine& engine_;
  Pieces pieces_;
  uint64_t added_bytes_ = 0;
};

class MemoryContent : public Content {
 public:
  MemoryContent(std::shared_ptr<const Pieces> pieces, std::string quarantine)
      : pieces_(std::move(pieces)), quarantine_(std::move(quarantine)) {}

  uint64_t size_bytes() const override { return pieces_->size_bytes; }
  uint64_t version() const override { return pieces_->version; }
  absl::string_view quarantine() const override { return quarantine_; }

  absl::StatusOr<absl::string_view> Read(const PieceId& id) override {
    const auto found = pieces_->by_id.find(id);
    if (found == pieces_->by_id.end()) return absl::DataLossError("the piece is missing");
    return found->second;
  }

 private:
  const std::shared_ptr<const Pieces> pieces_;
  const std::string quarantine_;
};

// A page of the digests at the time when it was begun.
class MemoryScan : public DiskScan {
 public:
  MemoryScan(Engine& engine, std::vector<Digest> digests) : engine_(engine), digests_(std::move(digests)) {}

  absl::StatusOr<std::optional<ScannedBlob>> Next() override {
    if (next_ == digests_.size()) return std::optional<ScannedBlob>();
    const Digest& digest = digests_[next_++];
    ScannedBlob blob{digest, "", false, engine_.Open(digest)};
    blob.is_quarantined = blob.content.ok() && !(*blob.content)->quarantine().empty();
    return std::optional<ScannedBlob>(std::move(blob));
  }
  std::optional<Digest> last() const override {
    return digests_.empty() ? std::optional<Digest>() : std::optional<Digest>(digests_.back());
  }

 private:
  Engine& engine_;
  const std::vector<Digest> digests_;
  size_t next_ = 0;
};

class MemoryEngine : public Engine {
 public:
  absl::StatusOr<std::unique_ptr<Staging>> Stage(uint64_t) override { return std::make_unique<MemoryStaging>(*this); }

  void CountStaged(int64_t bytes) { staging_bytes_ += bytes; }

  bool Publish(Pieces staged, const Reference& reference) {
    std::lock_guard lock(mutex_);
    return PublishLocked(std::move(staged), reference);
  }

  absl::StatusOr<std::vector<bool>> PublishAll(absl::Span<const WholeBlob> blobs) override {
    std::lock_guard lock(mutex_);
    std::vector<bool> deduplicated;
    for (const WholeBlob& blob : blobs) {
      Pieces staged;
      for (const auto& [id, bytes] : blob.pieces) staged.by_id.emplace(id, bytes);
      deduplicated.push_back(PublishLocked(std::move(staged), blob.reference));
    }
    return deduplicated;
  }

  absl::StatusOr<uint64_t> Bind(const Reference& reference) override {
    std::lock_guard lock(mutex_);
    const auto blob = blobs_.find(reference.digest);
    if (blob == blobs_.end() || quarantined_.contains(reference.digest)) return BlobNotFound(reference.digest);
    Reference sized = reference;
    sized.size_bytes = blob->second->size_bytes;
    SetReference(sized);
    return sized.size_bytes;
  }

  absl::StatusOr<std::unique_ptr<Content>> Open(const Digest& digest) override {
    std::lock_guard lock(mutex_);
    const auto blob = blobs_.find(digest);
    if (blob == blobs_.end()) return BlobNotFound(digest);
    const auto quarantined = quarantined_.find(digest);
    return std::make_unique<MemoryContent>(blob->second, quarantined == quarantined_.end() ? "" : quarantined->second);
  }

  absl::StatusOr<std::optional<uint64_t>> Find(const Digest& digest) override {
    std::lock_guard lock(mutex_);
    const auto blob = blobs_.find(digest);
    if (blob == blobs_.end() || quarantined_.contains(digest)) return std::optional<uint64_t>();
    return std::optional<uint64_t>(blob->second->size_bytes);
  }

  absl::StatusOr<Reference> Resolve(absl::string_view bucket, absl::string_view name) override {
    std::lock_guard lock(mutex_);
    const auto in = buckets_.find(bucket);
    if (in == buckets_.end()) return BucketNotFound(bucket);
    const auto found = in->second.references.find(name);
    if (found == in->second.references.end()) return NameNotFound(bucket, name);
    return found->second;
  }

  absl::StatusOr<std::vector<ListedReference>> List(absl::string_view bucket, absl::string_view prefix,
                                                    absl::string_view after, size_t limit) override {
    std::lock_guard lock(mutex_);
    const auto in = buckets_.find(bucket);
    if (in == buckets_.end()) return BucketNotFound(bucket);
    const auto& references = in->second.references;
    std::vector<ListedReference> page;
    auto next = after < prefix ? references.lower_bound(prefix) : references.upper_bound(after);
    for (; next != references.end() && page.size() < limit && absl::StartsWith(next->first, prefix); ++next) {
      page.push_back({next->first, next->second});
    }
    return page;
  }

  absl::StatusOr<uint64_t> Delete(absl::string_view bucket, absl::Span<const std::string> names) override {
    std::lock_guard lock(mutex_);
    const auto in = buckets_.find(bucket);
    if (in == buckets_.end()) return 0;
    uint64_t deleted = 0;
    for (const std::string& name : names) {
      const auto reference = in->second.references.find(name);
      if (reference == in->second.references.end()) continue;
      Condemn(reference->second.digest);
      in->second.references.erase(reference);
      ++deleted;
    }
    return deleted;
  }

  absl::StatusOr<bool> CreateBucket(const Bucket& bucket) override {
    std::lock_guard lock(mutex_);
    return buckets_.try_emplace(bucket.name, InBucket{bucket.created, {}}).second;
  }

  absl::StatusOr<bool> DeleteBucket(absl::string_view bucket) override {
    std::lock_guard lock(mutex_);
    const auto in = buckets_.find(bucket);
    if (in == buckets_.end()) return false;
    for (const auto& [name, reference] : in->second.references) Condemn(reference.digest);
    for (auto& [digest, leases] : leases_) {
      if (leases.erase(std::string(bucket)) > 0) Condemn(digest);
    }
    buckets_.erase(in);
    return true;
  }

  absl::StatusOr<std::vector<ListedBucket>> ListBuckets(absl::string_view after, size_t limit) override {
    std::lock_guard lock(mutex_);
    std::vector<ListedBucket> page;
    for (auto next = buckets_.upper_bound(after); next != buckets_.end() && page.size() < limit; ++next) {
      page.push_back({next->first, Bucket{next->first, next->second.created}});
    }
    return page;
  }

  absl::StatusOr<std::vector<Digest>> ListDigests(const std::optional<Digest>& after, size_t limit) override {
    std::lock_guard lock(mutex_);
    std::vector<Digest> page;
    auto next = after.has_value() ? blobs_.upper_bound(*after) : blobs_.begin();
    for (; next != blobs_.end() && page.size() < limit; ++next) page.push_back(next->first);
    return page;
  }

  absl::StatusOr<std::vector<Digest>> Lease(const Bucket& bucket, absl::Span<const Digest> digests,
                                            absl::Duration until) override {
    std::lock_guard lock(mutex_);
    buckets_.try_emplace(bucket.name, InBucket{bucket.created, {}});
    std::vector<Digest> missing;
    for (const Digest& digest : digests) {
      if (!blobs_.contains(digest) || quarantined_.contains(digest)) {
        missing.push_back(digest);
        continue;
      }
      absl::Duration& end = leases_[digest].try_emplace(bucket.name, until).first->second;
      end = std::max(end, until);
      absl::Duration& since = condemned_.try_emplace(digest, until).first->second;
      since = std::max(since, until);
    }
    return missing;
  }

  absl::Duration Uptime() const override { return absl::FromChrono(std::chrono::steady_clock::now() - start_); }

  absl::StatusOr<std::vector<Condemned>> ListCondemned(const std::optional<Digest>& after, size_t limit) override {
    std::lock_guard lock(mutex_);
    std::vector<Condemned> page;
    auto next = after.has_value() ? condemned_.upper_bound(*after) : condemned_.begin();
    for (; next != condemned_.end() && page.size() < limit; ++next) page.push_back({next->first, next->second});
    return page;
  }

  absl::StatusOr<Erasure> EraseCondemned(absl::Span<const Digest> digests, absl::Duration until,
                                         bool dry_run) override {
    std::lock_guard lock(mutex_);
    Erasure erasure;
    for (const Digest& digest : digests) {
      const auto condemned = condemned_.find(digest);
      if (condemned == condemned_.end() || condemned->second > until) continue;
      if (const std::optional<absl::Duration> leased_until = LiveLease(digest); leased_until.has_value()) {
        if (!dry_run) condemned->second = *leased_until;
        continue;
      }
      if (!dry_run) condemned_.erase(condemned);
      const auto blob = blobs_.find(digest);
      if (blob == blobs_.end() || IsReferenced(digest)) continue;
      ++erasure.blobs;
      erasure.content_bytes += blob->second->size_bytes;
      // Open readers share the pieces.
      if (!dry_run) {
        blobs_.erase(blob);
        leases_.erase(digest);
        quarantined_.erase(digest);
      }
    }
    return erasure;
  }

  absl::StatusOr<Quarantining> Quarantine(const Digest& digest, uint64_t version, absl::string_view reason) override {
    std::lock_guard lock(mutex_);
    const auto blob = blobs_.find(digest);
    if (blob == blobs_.end() || blob->second->version != version) return Quarantining::kGone;
    quarantined_.try_emplace(digest, reason);
    return Quarantining::kQuarantined;
  }

  absl::StatusOr<std::vector<Quarantined>> ListQuarantined(const std::optional<Digest>& after, size_t limit) override {
    std::lock_guard lock(mutex_);
    std::vector<Quarantined> page;
    auto next = after.has_value() ? quarantined_.upper_bound(*after) : quarantined_.begin();
    for (; next != quarantined_.end() && page.size() < limit; ++next) page.push_back({next->first, next->second});
    return page;
  }

  absl::StatusOr<std::unique_ptr<DiskScan>> ScanDisk(const std::optional<Digest>& after,
                                                     const ScanLimits& limits) override {
    absl::StatusOr<std::vector<Digest>> digests = ListDigests(after, limits.blobs);
    if (!digests.ok()) return digests.status();
    return std::make_unique<MemoryScan>(*this, *std::move(digests));
  }

  absl::StatusOr<std::unique_ptr<Content>> OpenOnDisk(const Digest& digest) override { return Open(digest); }

  // There are no back-links here.
  absl::StatusOr<RowCheck> CheckRows(absl::string_view, size_t) override {
    std::lock_guard lock(mutex_);
    RowCheck check;
    for (const auto& [name, bucket] : buckets_) check.rows += bucket.references.size();
    return check;
  }

  absl::StatusOr<ScrubState> LoadScrubState() override {
    std::lock_guard lock(mutex_);
    return scrub_state_;
  }
  absl::Status StoreScrubState(const ScrubState& state) override {
    std::lock_guard lock(mutex_);
    scrub_state_ = state;
    return absl::OkStatus();
  }

  absl::Status Maintain() override { return absl::OkStatus(); }

  EngineStatus GetStatus() const override {
    std::lock_guard lock(mutex_);
    EngineStatus status;
    status.store_id = std::string(32, '0');
    status.description = "memory";
    status.staging_bytes = staging_bytes_;
    status.puts_new = puts_new_;
    status.puts_deduplicated = puts_deduplicated_;
    status.deduplicated_bytes = deduplicated_bytes_;
    status.totals.blobs = blobs_.size();
    for (const auto& [digest, blob] : blobs_) status.totals.content_bytes += blob->size_bytes;
    status.totals.buckets = buckets_.size();
    for (const auto& [name, bucket] : buckets_) {
      status.totals.references += bucket.references.size();
      for (const auto& [_, reference] : bucket.references) status.totals.referenced_bytes += reference.size_bytes;
    }
    return status;
  }

 private:
  struct InBucket {
    absl::Time created;
    std::map<std::string, Reference, std::less<>> references;
  };

  // Under mutex_.
  bool PublishLocked(Pieces staged, const Reference& reference) {
    const bool present = blobs_.contains(reference.digest) && !quarantined_.contains(reference.digest);
    if (present) {
      ++puts_deduplicated_;
      deduplicated_bytes_ += reference.size_bytes;
    } else {
      ++puts_new_;
      staged.size_bytes = reference.size_bytes;
      staged.version = ++versions_;
      blobs_.insert_or_assign(reference.digest, std::make_shared<const Pieces>(std::move(staged)));
      quarantined_.erase(reference.digest);
    }
    SetReference(reference);
    return present;
  }

  // Under mutex_.
  void SetReference(const Reference& reference) {
    auto& in = buckets_.try_emplace(reference.bucket, InBucket{reference.created, {}}).first->second;
    const auto [entry, is_new] = in.references.try_emplace(reference.name, reference);
    if (is_new) return;
    if (!(entry->second.digest == reference.digest)) Condemn(entry->second.digest);
    entry->second = reference;
  }

  // Under mutex_.
  void Condemn(const Digest& digest) { condemned_.insert_or_assign(digest, Uptime()); }

  // Under mutex_. When the last live lease ends.
  std::optional<absl::Duration> LiveLease(const Digest& digest) const {
    std::optional<absl::Duration> live_until;
    const auto leases = leases_.find(digest);
    if (leases == leases_.end()) return live_until;
    for (const auto& [bucket, end] : leases->second) {
      if (end > Uptime()) live_until = std::max(live_until.value_or(end), end);
    }
    return live_until;
  }

  // Under mutex_. Looks at every reference: this engine is for tests.
  bool IsReferenced(const Digest& digest) const {
    for (const auto& [name, bucket] : buckets_) {
      for (const auto& [_, reference] : bucket.references) {
        if (reference.digest == digest) return true;
      }
    }
    return false;
  }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<int64_t> staging_bytes_ = 0;
  // Guards all that follows.
  mutable std::mutex mutex_;
  std::map<Digest, std::shared_ptr<const Pieces>> blobs_;
  std::map<std::string, InBucket, std::less<>> buckets_;
  std::map<Digest, absl::Duration> condemned_;
  // When the lease of each bucket ends.
  std::map<Digest, std::map<std::string, absl::Duration>> leases_;
  std::map<Digest, std::string> quarantined_;
  ScrubState scrub_state_;
  uint64_t versions_ = 0;
  uint64_t puts_new_ = 0;
  uint64_t puts_deduplicated_ = 0;
  uint64_t deduplicated_bytes_ = 0;
};

MemoryStaging::~MemoryStaging() { engine_.CountStaged(-static_cast<int64_t>(added_bytes_)); }

absl::Status MemoryStaging::Add(const PieceId& id, absl::string_view bytes) {
  pieces_.by_id.emplace_hint(pieces_.by_id.end(), id, bytes);
  added_bytes_ += bytes.size();
  engine_.CountStaged(static_cast<int64_t>(bytes.size()));
  return absl::OkStatus();
}

absl::StatusOr<bool> MemoryStaging::Publish(const Reference& reference) {
  return engine_.Publish(std::move(pieces_), reference);
}

}  // namespace

std::unique_ptr<Engine> NewMemoryEngine() { return std::make_unique<MemoryEngine>(); }

}  // namespace coffer
