// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/rocks_staging.h"

#include <cstring>
#include <filesystem>
#include <shared_mutex>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "storage/rocks/content_rows.h"
#include "storage/rocks/meta_rows.h"
#include "storage/rocks/reference_rows.h"

namespace coffer::rocks {
namespace {

// Up to here pieces are not worth a buffer.
constexpr uint64_t kSmallPiecesBytes = 2 * kRowBytes;

}  // namespace

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
  const std::shared_lock no_checkpoint(database.publish_gate());
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

RocksStaging::RocksStaging(StagingContext& context, uint64_t declared_size_bytes, DiskSpace::Reservation reservation)
    : context_(context), reservation_(std::move(reservation)), is_large_(declared_size_bytes >= kGatherBytes) {}

RocksStaging::~RocksStaging() {
  DropGathered();
  context_.staging_bytes -= staged_bytes_;
  writer_.reset();
  for (const std::string& file : files_) {
    std::error_code gone;
    std::filesystem::remove(file, gone);
  }
  // If this fails the intent stands, and the next start does it.
  if (has_intent_ && !may_be_published_) {
    DropUnpublished(context_.database, context_.committer, content_id_).IgnoreError();
  }
}

void RocksStaging::DropGathered() {
  context_.gathered_bytes -= gathered_bytes_;
  gathered_bytes_ = 0;
  gathered_.clear();
  for (BufferStock::Buffer& buffer : buffers_) context_.buffers.Give(std::move(buffer));
  buffers_.clear();
  small_pieces_.clear();
  buffer_room_bytes_ = 0;
}

void RocksStaging::Gather(const PieceId& id, absl::string_view bytes) {
  // No piece is larger than a row or a page.
  static_assert(kRowBytes <= BufferStock::kBufferBytes && kPagesPerPage * kParentBytes <= BufferStock::kBufferBytes);
  if (gathered_bytes_ + bytes.size() <= kSmallPiecesBytes) {
    gathered_.push_back({id, small_pieces_.emplace_back(bytes)});
    return;
  }
  if (buffer_room_bytes_ < bytes.size()) {
    buffers_.push_back(context_.buffers.Take());
    buffer_room_bytes_ = BufferStock::kBufferBytes;
  }
  char* const to = buffers_.back().get() + BufferStock::kBufferBytes - buffer_room_bytes_;
  std::memcpy(to, bytes.data(), bytes.size());
  buffer_room_bytes_ -= bytes.size();
  gathered_.push_back({id, {to, bytes.size()}});
}

absl::Status RocksStaging::Add(const PieceId& id, absl::string_view bytes) {
  staged_bytes_ += bytes.size();
  context_.staging_bytes += bytes.size();
  unchecked_bytes_ += bytes.size();
  if (unchecked_bytes_ >= kSpaceCheckBytes) {
    unchecked_bytes_ = 0;
    // What was declared is reserved already.
    const uint64_t wanted_bytes = reservation_.left_bytes() > 0 ? 0 : kSpaceCheckBytes;
    if (absl::Status status = context_.disk_space.Check(wanted_bytes); !status.ok()) return status;
  }
  if (is_large_) return WritePiece(id, bytes);
  Gather(id, bytes);
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
  reservation_.Use(bytes.size());
  return writer_->FileSize() >= kContentFileBytes ? FinishFile() : absl::OkStatus();
}

absl::Status RocksStaging::FinishFile() {
  rocksdb::ExternalSstFileInfo info;
  absl::Status status = ToStatus(writer_->Finish(&info), "finishing a staging file");
  checksums_.push_back(std::move(info.file_checksum));
  checksum_functions_.push_back(std::move(info.file_checksum_func_name));
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
  has_intent_ = true;
  // The disk was still writing meanwhile.
  if (writer_ != nullptr) {
    if (status = FinishFile(); !status.ok()) return status;
  }
  rocksdb::IngestExternalFileArg ingest{database.ingested(), files_, {}, checksums_, checksum_functions_};
  rocksdb::IngestExternalFileOptions& options = ingest.options;
  options.move_files = true;
  options.failed_move_fall_back_to_copy = false;
  options.snapshot_consistency = false;
  options.write_global_seqno = false;
  // They were computed while the file was written; to check them is to read it again.
  options.verify_file_checksum = false;
  return ToStatus(database.db().IngestExternalFiles({ingest}), "ingesting content");
}

absl::StatusOr<bool> RocksStaging::Publish(const Reference& reference) {
  if (!is_large_) {
    const WholeBlob blob{reference, std::move(gathered_)};
    absl::StatusOr<std::vector<bool>> deduplicated = PublishWhole(context_, absl::MakeConstSpan(&blob, 1));
    if (!deduplicated.ok()) return deduplicated.status();
    return deduplicated->front();
  }
  PublishingDigests::Claim claim(context_.publishing, reference.digest);
  absl::StatusOr<Outcome> outcome = CommitRows(reference);
  if (outcome.ok() && *outcome == Outcome::kNeedsContent) {
    const std::shared_lock no_checkpoint(context_.database.publish_gate());
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
    if (!has_intent_) {
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
