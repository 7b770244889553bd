// SPDX-License-Identifier: Apache-2.0
//
// An upload on its way into RocksDB.
//
//   1. Pieces are gathered in memory, up to kGatherBytes and as far as the budget of all uploads allows. A blob
//      that ends there goes into the publishing batch as a whole.
//   2. A larger one takes a content id and streams into sorted files of its own under staging/, which meet neither log
//      nor memtable.
//   3. Publish writes a synced intent row, ingests the files, and writes the record with the reference in the batch
//      that deletes the intent.
//   4. A crash leaves files under staging/, or ingested content whose intent still stands: both go at start.
#pragma once

#include <rocksdb/sst_file_writer.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "storage/engine.h"
#include "storage/rocks/buffer_stock.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/content_ids.h"
#include "storage/rocks/database.h"
#include "storage/rocks/disk_space.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/reclaimer.h"

namespace coffer::rocks {

class PublishingDigests;

// What all uploads of an engine share. Thread-safe.
struct StagingContext {
  Database& database;
  Committer& committer;
  ContentIds& content_ids;
  const DiskSpace& disk_space;
  PublishingDigests& publishing;
  BufferStock& buffers;
  Reclaimer& reclaimer;
  std::string staging_dir;
  // What sorted files are written with.
  rocksdb::Options ingested_options;
  // Gathered in memory now, by all uploads.
  std::atomic<uint64_t> gathered_bytes = 0;
  // Staged now, in memory or on disk.
  std::atomic<uint64_t> staging_bytes = 0;
  std::atomic<uint64_t> puts_new = 0;
  std::atomic<uint64_t> puts_deduplicated = 0;
  std::atomic<uint64_t> deduplicated_bytes = 0;

  void CountPut(uint64_t size_bytes, bool deduplicated) {
    ++(deduplicated ? puts_deduplicated : puts_new);
    if (deduplicated) deduplicated_bytes += size_bytes;
  }
};

class RocksStaging : public Staging {
 public:
  // `declared_size_bytes` is 0 if it is not known.
  RocksStaging(StagingContext& context, uint64_t declared_size_bytes, DiskSpace::Reservation reservation);
  ~RocksStaging() override;

  absl::Status Add(const PieceId& id, absl::string_view bytes) override;
  absl::StatusOr<bool> Publish(const Reference& reference) override;

  // A blob up to this size costs a second copy of its bytes in the log rather than a file of its own: with many
  // small files every ingest gets slower.
  static constexpr uint64_t kGatherBytes = uint64_t{8} << 20;
  // The most that all uploads gather together; beyond it those above kSmallBytes stream to files earlier.
  static constexpr uint64_t kGatherBudgetBytes = uint64_t{128} << 20;
  // A blob up to this size never gets a file of its own, also when others have used up the budget: files must not
  // become as many as small blobs.
  static constexpr uint64_t kSmallBytes = uint64_t{1} << 20;

 private:
  // How often the disk is asked for its free space.
  static constexpr uint64_t kSpaceCheckBytes = uint64_t{64} << 20;

  enum class Outcome {
    kPublished,
    kDeduplicated,
    // Not present, and not ingested yet.
    kNeedsContent,
  };

  void Gather(const PieceId& id, absl::string_view bytes);
  absl::Status MoveToDisk();
  absl::Status WritePiece(const PieceId& id, absl::string_view bytes);
  absl::Status FinishFile();
  absl::StatusOr<Outcome> CommitRows(const Reference& reference);
  absl::Status Ingest();
  void DropGathered();

  StagingContext& context_;
  // Pieces in what follows: the first in strings of their size, which is all that a small blob needs.
  std::vector<WholeBlob::Piece> gathered_;
  std::deque<std::string> small_pieces_;
  std::vector<BufferStock::Buffer> buffers_;
  // Left in the last buffer.
  size_t buffer_room_bytes_ = 0;
  uint64_t gathered_bytes_ = 0;
  // Of what was declared; what is gathered counts until it is gone, for it is not on the disk yet.
  DiskSpace::Reservation reservation_;
  uint64_t staged_bytes_ = 0;
  uint64_t unchecked_bytes_ = 0;
  // Whether pieces go to files.
  bool is_large_;
  ContentId content_id_ = 0;
  std::unique_ptr<rocksdb::SstFileWriter> writer_;
  std::vector<std::string> files_;
  // Of each of files_, as the database shall keep them.
  std::vector<std::string> checksums_;
  std::vector<std::string> checksum_functions_;
  // Its files may be ingested.
  bool has_intent_ = false;
  // A publishing batch was handed to the committer and may be on disk, also if it came back with an error: what it
  // names must stay until the next start knows.
  bool may_be_published_ = false;
};

// Publishes blobs that are in memory as a whole, in one batch.
absl::StatusOr<std::vector<bool>> PublishWhole(StagingContext& context, absl::Span<const WholeBlob> blobs);

// Removes the ingested content of an id that no record names, and then its intent.
absl::Status DropUnpublished(Database& database, Committer& committer, ContentId content);

// Digests whose large content is being published: a second upload of one waits for the first and finds it.
class PublishingDigests {
 public:
  // Waits until nobody else holds `digest`; held until destroyed.
  class Claim {
   public:
    Claim(PublishingDigests& digests, const Digest& digest);
    ~Claim();
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

   private:
    PublishingDigests& digests_;
    const Digest digest_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  // Guarded by mutex_.
  absl::flat_hash_set<Digest> held_;
};

}  // namespace coffer::rocks
