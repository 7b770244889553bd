// SPDX-License-Identifier: Apache-2.0
#include "tests/support/probe_engine.h"

#include <string>
#include <utility>

#include "storage/scrub.h"

namespace coffer {

uint64_t Probe::read_bytes() {
  const std::lock_guard lock(mutex_);
  return read_bytes_;
}

int Probe::held_publishes() {
  const std::lock_guard lock(mutex_);
  return held_;
}

int Probe::published() {
  const std::lock_guard lock(mutex_);
  return published_;
}

void Probe::HoldPublishes() {
  const std::lock_guard lock(mutex_);
  holds_ = true;
}

void Probe::ReleasePublishes() {
  const std::lock_guard lock(mutex_);
  holds_ = false;
  released_.notify_all();
}

void Probe::DamageRow(int64_t row) {
  const std::lock_guard lock(mutex_);
  damaged_row_ = row;
}

void Probe::FailPublishAll(const absl::Status& status) {
  const std::lock_guard lock(mutex_);
  publish_all_status_ = status;
}

absl::Status Probe::publish_all_status() {
  const std::lock_guard lock(mutex_);
  return publish_all_status_;
}

void Probe::WaitForRelease() {
  std::unique_lock lock(mutex_);
  ++held_;
  released_.wait(lock, [this] { return !holds_; });
  --held_;
  ++published_;
}

bool Probe::IsDamaged(const PieceId& id) {
  const std::lock_guard lock(mutex_);
  return id.level == 0 && damaged_row_ == static_cast<int64_t>(id.segment * kRowsPerSegment + id.row);
}

class ProbeStaging : public Staging {
 public:
  ProbeStaging(std::unique_ptr<Staging> staging, Probe& probe) : staging_(std::move(staging)), probe_(probe) {}
  absl::Status Add(const PieceId& id, absl::string_view bytes) override { return staging_->Add(id, bytes); }
  absl::StatusOr<bool> Publish(const Reference& reference) override {
    probe_.WaitForRelease();
    return staging_->Publish(reference);
  }

 private:
  const std::unique_ptr<Staging> staging_;
  Probe& probe_;
};

class ProbeContent : public Content {
 public:
  ProbeContent(std::unique_ptr<Content> content, Probe& probe) : content_(std::move(content)), probe_(probe) {}
  uint64_t size_bytes() const override { return content_->size_bytes(); }
  uint64_t version() const override { return content_->version(); }
  absl::string_view quarantine() const override { return content_->quarantine(); }
  absl::StatusOr<absl::string_view> Read(const PieceId& id) override {
    absl::StatusOr<absl::string_view> bytes = content_->Read(id);
    if (!bytes.ok()) return bytes;
    {
      const std::lock_guard lock(probe_.mutex_);
      probe_.read_bytes_ += bytes->size();
    }
    if (!probe_.IsDamaged(id)) return bytes;
    damaged_ = std::string(*bytes);
    damaged_.back() ^= 1;
    return damaged_;
  }

 private:
  const std::unique_ptr<Content> content_;
  Probe& probe_;
  std::string damaged_;
};

class ProbeEngine : public Engine {
 public:
  ProbeEngine(std::unique_ptr<Engine> engine, Probe& probe) : engine_(std::move(engine)), probe_(probe) {}

  absl::StatusOr<std::unique_ptr<Staging>> Stage(uint64_t declared_size_bytes) override {
    absl::StatusOr<std::unique_ptr<Staging>> staging = engine_->Stage(declared_size_bytes);
    if (!staging.ok()) return staging;
    return std::make_unique<ProbeStaging>(*std::move(staging), probe_);
  }
  absl::StatusOr<std::vector<bool>> PublishAll(absl::Span<const WholeBlob> blobs) override {
    if (absl::Status status = probe_.publish_all_status(); !status.ok()) return status;
    return engine_->PublishAll(blobs);
  }
  absl::StatusOr<uint64_t> Bind(const Reference& reference) override { return engine_->Bind(reference); }
  absl::StatusOr<std::unique_ptr<Content>> Open(const Digest& digest) override {
    absl::StatusOr<std::unique_ptr<Content>> content = engine_->Open(digest);
    if (!content.ok()) return content;
    return std::make_unique<ProbeContent>(*std::move(content), probe_);
  }
  absl::StatusOr<std::optional<uint64_t>> Find(const Digest& digest) override { return engine_->Find(digest); }
  absl::StatusOr<Reference> Resolve(absl::string_view bucket, absl::string_view name) override {
    return engine_->Resolve(bucket, name);
  }
  absl::StatusOr<std::vector<ListedReference>> List(absl::string_view bucket, absl::string_view prefix,
                                                    absl::string_view after, size_t limit) override {
    return engine_->List(bucket, prefix, after, limit);
  }
  absl::StatusOr<uint64_t> Delete(absl::string_view bucket, absl::Span<const std::string> names) override {
    return engine_->Delete(bucket, names);
  }
  absl::StatusOr<bool> CreateBucket(const Bucket& bucket) override { return engine_->CreateBucket(bucket); }
  absl::StatusOr<bool> DeleteBucket(absl::string_view bucket) override { return engine_->DeleteBucket(bucket); }
  absl::StatusOr<std::vector<ListedBucket>> ListBuckets(absl::string_view after, size_t limit) override {
    return engine_->ListBuckets(after, limit);
  }
  absl::StatusOr<std::vector<Digest>> ListDigests(const std::optional<Digest>& after, size_t limit) override {
    return engine_->ListDigests(after, limit);
  }
  absl::StatusOr<std::vector<Digest>> Lease(const Bucket& bucket, absl::Span<const Digest> digests,
                                            absl::Duration until) override {
    return engine_->Lease(bucket, digests, until);
  }
  absl::Duration Uptime() const override { return engine_->Uptime(); }
  absl::StatusOr<std::vector<Condemned>> ListCondemned(const std::optional<Digest>& after, size_t limit) override {
    return engine_->ListCondemned(after, limit);
  }
  absl::StatusOr<Erasure> EraseCondemned(absl::Span<const Digest> digests, absl::Duration until,
                                         bool dry_run) override {
    return engine_->EraseCondemned(digests, until, dry_run);
  }
  absl::StatusOr<Quarantining> Quarantine(const Digest& digest, uint64_t version, absl::string_view reason) override {
    return engine_->Quarantine(digest, version, reason);
  }
  absl::StatusOr<std::vector<Quarantined>> ListQuarantined(const std::optional<Digest>& after, size_t limit) override {
    return engine_->ListQuarantined(after, limit);
  }
  absl::StatusOr<std::unique_ptr<DiskScan>> ScanDisk(const std::optional<Digest>& after,
                                                     const ScanLimits& limits) override {
    return engine_->ScanDisk(after, limits);
  }
  absl::StatusOr<std::unique_ptr<Content>> OpenOnDisk(const Digest& digest) override {
    return engine_->OpenOnDisk(digest);
  }
  absl::StatusOr<RowCheck> CheckRows(absl::string_view cursor, size_t limit) override {
    return engine_->CheckRows(cursor, limit);
  }
  absl::StatusOr<ScrubState> LoadScrubState() override { return engine_->LoadScrubState(); }
  absl::Status StoreScrubState(const ScrubState& state) override { return engine_->StoreScrubState(state); }
  absl::Status Maintain() override { return engine_->Maintain(); }
  EngineStatus GetStatus() const override { return engine_->GetStatus(); }

 private:
  const std::unique_ptr<Engine> engine_;
  Probe& probe_;
};

std::unique_ptr<Engine> NewProbeEngine(std::unique_ptr<Engine> engine, Probe& probe) {
  return std::make_unique<ProbeEngine>(std::move(engine), probe);
}

}  // namespace coffer
