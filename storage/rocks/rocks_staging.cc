// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/rocks_staging.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "storage/rocks/content_rows.h"
#include "storage/rocks/meta_rows.h"
#include "storage/rocks/reference_rows.h"

namespace coffer::rocks {

absl::StatusOr<std::vector<bool>> PublishWhole(StagingContext& context, absl::Span<const WholeBlob> blobs) {
  uint64_t size_bytes = 0;
  for (const WholeBlob& blob : blobs) size_bytes += blob.reference.size_bytes;
  // Once in the log, and once more when the memtable is flushed.
  if (absl::Status status = context.disk_space.Check(2 * size_bytes); !status.ok()) return status;
  Database& database = context.database;
  std::vector<bool> deduplicated(blobs.size());
  ErasedContents erased;
  absl::Status status = context.committer.Commit(size_bytes, [&](Batch& batch) -> absl::Status {
    for (size_t i = 0; i < blobs.size(); ++i) {
      const Reference& reference = blobs[i].reference;
      absl::StatusOr<Present> present = FindRecord(database, batch, reference.digest);
      if (!present.ok()) return present.status();
      deduplicated[i] = present->is_stored();
      absl::Status put = deduplicated[i] ? SetReference(database, batch, reference, *present->record)
                                         : PutWhole(database, context.content_ids, batch, blobs[i], *present, erased);
      if (!put.ok()) return put;
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  context.reclaimer.Add(std::move(erased));
  for (size_t i = 0; i < blobs.size(); ++i) context.CountPut(blobs[i].reference.size_bytes, deduplicated[i]);
  return deduplicated;
}

absl::Status DropUnpublished(Database& database, Committer& committer, ContentId content) {
  absl::Status status = DropIngested(database, committer, absl::MakeConstSpan(&content, 1));
  if (!status.ok()) return status;
  return committer.Commit(0, [&](Batch& batch) {
    batch.Delete(database.meta(), IntentKey(content));
    return absl::OkStatus();
  });
}

PublishingDigests::Claim::Claim(PublishingDigests& digests, const Digest& digest) : digests_(digests), digest_(digest) {
  std::unique_lock lock(digests_.mutex_);
  digests_.freed_.wait(lock, [this] { return !digests_.held_.contains(digest_); });
  digests_.held_.insert(digest_);
}

PublishingDigests::Claim::~Claim() {
  {
    std::lock_guard lock(digests_.mutex_);
    digests_.held_.erase(digest_);
  }
  digests_.freed_.notify_all();
}

RocksStaging::RocksStaging(StagingContext& context, uint64_t declared_size_bytes)
    : context_(context), is_large_(declared_size_bytes > kGatherBytes) {}

RocksStaging::~RocksStaging() {
  DropGathered();
  context_.staging_bytes -= staged_bytes_;
  writer_.reset();
  for (const std::string& file : files_) {
    std::error_code gone;
    std::filesystem::remove(file, gone);
  }
  // If this fails the intent stands, and the next start does it.
  if (ingested_ && !may_be_published_) {
    DropUnpublished(context_.database, context_.committer, content_id_).IgnoreError();
  }
}

void RocksStaging::DropGathered() {
  context_.gathered_bytes -= gathered_bytes_;
  gathered_bytes_ = 0;
  gathered_.clear();
}

absl::Status RocksStaging::Add(const PieceId& id, absl::string_view bytes) {
  staged_bytes_ += bytes.size();
  context_.staging_bytes += bytes.size();
  unchecked_bytes_ += bytes.size();
  if (unchecked_bytes_ >= kSpaceCheckBytes) {
    unchecked_bytes_ = 0;
    if (absl::Status status = context_.disk_space.Check(kSpaceCheckBytes); !status.ok()) return status;
  }
  if (is_large_) return WritePiece(id, bytes);
  gathered_.emplace_back(id, bytes);
  gathered_bytes_ += bytes.size();
  const uint64_t gathered_by_all = context_.gathered_bytes += bytes.size();
  const uint64_t limit = gathered_by_all <= kGatherBudgetBytes ? kGatherBytes : kSmallBytes;
  return gathered_bytes_ <= limit ? absl::OkStatus() : MoveToDisk();
}

absl::Status RocksStaging::MoveToDisk() {
  is_large_ = true;
  for (const auto& [piece, bytes] : gathered_) {
    if (absl::Status status = WritePiece(piece, bytes); !status.ok()) return status;
  }
  DropGathered();
  return absl::OkStatus();
}

absl::Status RocksStaging::WritePiece(const PieceId& id, absl::string_view bytes) {
  if (content_id_ == 0) content_id_ = context_.content_ids.Take();
  if (writer_ == nullptr) {
    const rocksdb::Options& options = context_.ingested_options;
    writer_ =
        std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(options), options, context_.database.ingested());
    files_.push_back(absl::StrCat(context_.staging_dir, "/", content_id_, "-", files_.size(), ".sst"));
    absl::Status status = ToStatus(writer_->Open(files_.back()), "opening a staging file");
    if (!status.ok()) return status;
  }
  absl::Status status = ToStatus(writer_->Put(PieceKey(content_id_, id), ToSlice(bytes)), "writing a staging file");
  if (!status.ok()) return status;
  return writer_->FileSize() >= kFileBytes ? FinishFile() : absl::OkStatus();
}

absl::Status RocksStaging::FinishFile() {
  absl::Status status = ToStatus(writer_->Finish(), "finishing a staging file");
  writer_.reset();
  return status;
}

absl::Status RocksStaging::Ingest() {
  Database& database = context_.database;
  absl::Status status = context_.committer.Commit(0, [&](Batch& batch) {
    batch.Put(database.meta(), IntentKey(content_id_), "");
    context_.content_ids.Reserve(database, batch);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  options.failed_move_fall_back_to_copy = false;
  options.snapshot_consistency = false;
  options.write_global_seqno = false;
  ingested_ = true;
  return ToStatus(database.db().IngestExternalFile(database.ingested(), files_, options), "ingesting content");
}

absl::StatusOr<bool> RocksStaging::Publish(const Reference& reference) {
  if (!is_large_) {
    WholeBlob blob{reference, {}};
    for (const auto& [id, bytes] : gathered_) blob.pieces.push_back({id, bytes});
    absl::StatusOr<std::vector<bool>> deduplicated = PublishWhole(context_, absl::MakeConstSpan(&blob, 1));
    if (!deduplicated.ok()) return deduplicated.status();
    return deduplicated->front();
  }
  if (writer_ != nullptr) {
    if (absl::Status status = FinishFile(); !status.ok()) return status;
  }
  PublishingDigests::Claim claim(context_.publishing, reference.digest);
  absl::StatusOr<Outcome> outcome = CommitRows(reference);
  if (outcome.ok() && *outcome == Outcome::kNeedsContent) {
    if (absl::Status status = Ingest(); !status.ok()) return status;
    may_be_published_ = true;
    outcome = CommitRows(reference);
  }
  if (!outcome.ok()) return outcome.status();
  const bool deduplicated = *outcome == Outcome::kDeduplicated;
  may_be_published_ = !deduplicated;
  context_.CountPut(reference.size_bytes, deduplicated);
  return deduplicated;
}

absl::StatusOr<RocksStaging::Outcome> RocksStaging::CommitRows(const Reference& reference) {
  Database& database = context_.database;
  Outcome outcome = Outcome::kPublished;
  ErasedContents erased;
  absl::Status status = context_.committer.Commit(0, [&](Batch& batch) -> absl::Status {
    absl::StatusOr<Present> present = FindRecord(database, batch, reference.digest);
    if (!present.ok()) return present.status();
    if (present->is_stored()) {
      outcome = Outcome::kDeduplicated;
      return SetReference(database, batch, reference, *present->record);
    }
    if (!ingested_) {
      outcome = Outcome::kNeedsContent;
      return absl::OkStatus();
    }
    outcome = Outcome::kPublished;
    batch.Delete(database.meta(), IntentKey(content_id_));
    const Record record{reference.size_bytes, Placement::kIngested, content_id_, kUnknownBucket, ""};
    return PutRecord(database, batch, reference, record, "", *present, erased);
  });
  if (!status.ok()) return status;
  context_.reclaimer.Add(std::move(erased));
  return outcome;
}

}  // namespace coffer::rocks
