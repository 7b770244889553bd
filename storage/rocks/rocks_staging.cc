// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/rocks_staging.h"

#include <rocksdb/convenience.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "storage/rocks/reference_rows.h"

namespace coffer::rocks {
namespace {

// Every key of the content lies in [first, second).
std::pair<std::string, std::string> ContentKeys(ContentId content) {
  return {NumberedKey("", content), NumberedKey("", content + 1)};
}

absl::Status DropIntent(Database& database, Committer& committer, ContentId content) {
  return committer.Commit(0, [&](Batch& batch) {
    batch.Delete(database.meta(), NumberedKey(kIntentPrefix, content));
    return absl::OkStatus();
  });
}

}  // namespace

absl::Status DropContent(Database& database, Committer& committer, ContentId content) {
  // FORMAT.md 8: the files first, then the rows that other files hold, then the intent.
  const auto [begin, end] = ContentKeys(content);
  const rocksdb::Slice begin_slice(begin);
  const rocksdb::Slice end_slice(end);
  const absl::string_view what = "dropping unpublished content";
  absl::Status status =
      ToStatus(rocksdb::DeleteFilesInRange(&database.db(), database.content(), &begin_slice, &end_slice, false), what);
  if (!status.ok()) return status;
  // What shares a file with other content by now goes row by row.
  status = ToStatus(database.db().DeleteRange(rocksdb::WriteOptions(), database.content(), begin_slice, end_slice), what);
  if (!status.ok()) return status;
  return DropIntent(database, committer, content);
}

PublishingDigests::Claim::Claim(PublishingDigests& digests, const Digest& digest)
    : digests_(digests), digest_(digest) {
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

RocksStaging::~RocksStaging() {
  DropGathered();
  context_.staging_bytes -= staged_bytes_;
  writer_.reset();
  for (const std::string& file : files_) {
    std::error_code gone;
    std::filesystem::remove(file, gone);
  }
  if (on_disk() && !published_) {
    // If this fails the intent stands, and the next start does it.
    (ingested_ ? DropContent : DropIntent)(context_.database, context_.committer, content_id_).IgnoreError();
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
  if (on_disk()) return WritePiece(id, bytes);
  gathered_.emplace_back(id, bytes);
  gathered_bytes_ += bytes.size();
  const uint64_t gathered_by_all = context_.gathered_bytes += bytes.size();
  if (gathered_bytes_ <= kGatherBytes && gathered_by_all <= kGatherBudgetBytes) return absl::OkStatus();
  return MoveToDisk();
}

absl::Status RocksStaging::MoveToDisk() {
  Database& database = context_.database;
  ContentId id = kInline;
  absl::Status status = context_.committer.Commit(0, [&](Batch& batch) -> absl::Status {
    absl::StatusOr<uint64_t> number = TakeNumber(database, batch, kNextContentKey, 1);
    if (!number.ok()) return number.status();
    batch.Put(database.meta(), NumberedKey(kIntentPrefix, *number), "");
    id = *number;
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  content_id_ = id;
  for (const auto& [piece, bytes] : gathered_) {
    if (status = WritePiece(piece, bytes); !status.ok()) return status;
  }
  DropGathered();
  return absl::OkStatus();
}

absl::Status RocksStaging::WritePiece(const PieceId& id, absl::string_view bytes) {
  if (writer_ == nullptr) {
    const rocksdb::Options& options = context_.database.content_options();
    writer_ = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(options), options, context_.database.content());
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
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  options.failed_move_fall_back_to_copy = false;
  options.snapshot_consistency = false;
  options.write_global_seqno = false;
  ingested_ = true;
  return ToStatus(context_.database.db().IngestExternalFile(context_.database.content(), files_, options),
                  "ingesting content");
}

absl::StatusOr<bool> RocksStaging::Publish(const Reference& reference) {
  if (writer_ != nullptr) {
    if (absl::Status status = FinishFile(); !status.ok()) return status;
  }
  absl::StatusOr<Outcome> outcome = Outcome::kPublished;
  if (on_disk()) {
    PublishingDigests::Claim claim(context_.publishing, reference.digest);
    outcome = CommitRows(reference);
    if (outcome.ok() && *outcome == Outcome::kNeedsContent) {
      if (absl::Status status = Ingest(); !status.ok()) return status;
      outcome = CommitRows(reference);
    }
  } else {
    // Once in the log, and once more when the memtable is flushed.
    if (absl::Status status = context_.disk_space.Check(2 * gathered_bytes_); !status.ok()) return status;
    outcome = CommitRows(reference);
  }
  if (!outcome.ok()) return outcome.status();
  if (*outcome == Outcome::kDeduplicated) {
    ++context_.puts_deduplicated;
    context_.deduplicated_bytes += reference.size_bytes;
    return true;
  }
  ++context_.puts_new;
  published_ = true;
  return false;
}

absl::StatusOr<RocksStaging::Outcome> RocksStaging::CommitRows(const Reference& reference) {
  Database& database = context_.database;
  Outcome outcome = Outcome::kPublished;
  absl::Status status = context_.committer.Commit(gathered_bytes_, [&](Batch& batch) -> absl::Status {
    absl::StatusOr<std::optional<std::string>> value = batch.Get(database.records(), reference.digest.view());
    if (!value.ok()) return value.status();
    if (value->has_value()) {
      const absl::StatusOr<RecordRow> row = DecodeRecord(reference.digest, **value);
      if (row.ok()) {
        outcome = Outcome::kDeduplicated;
        return SetReference(database, batch, reference, row->record);
      }
    }
    if (on_disk() && !ingested_) {
      outcome = Outcome::kNeedsContent;
      return absl::OkStatus();
    }
    outcome = Outcome::kPublished;
    // A record that is there all the same is damaged, and this put heals it.
    return PutContent(batch, reference, value->has_value());
  });
  if (!status.ok()) return status;
  return outcome;
}

absl::Status RocksStaging::PutContent(Batch& batch, const Reference& reference, bool heals) {
  Database& database = context_.database;
  if (on_disk()) {
    batch.Delete(database.meta(), NumberedKey(kIntentPrefix, content_id_));
    return PutRecord(database, batch, reference, content_id_, "", "", heals);
  }
  if (reference.size_bytes <= kRowBytes) {
    // In key order the row comes before its page; either may be missing.
    absl::string_view row;
    absl::string_view page;
    for (const auto& [id, bytes] : gathered_) (id.level == 0 ? row : page) = bytes;
    return PutRecord(database, batch, reference, kInline, page, row, heals);
  }
  absl::StatusOr<uint64_t> number = TakeNumber(database, batch, kNextContentKey, 1);
  if (!number.ok()) return number.status();
  for (const auto& [id, bytes] : gathered_) batch.Put(database.content(), PieceKey(*number, id), bytes);
  return PutRecord(database, batch, reference, *number, "", "", heals);
}

}  // namespace coffer::rocks
