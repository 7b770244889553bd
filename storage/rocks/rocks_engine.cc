// SPDX-License-Identifier: Apache-2.0
//
// The Engine over RocksDB. Every change is an operation of the committer; reads go past it.
#include "storage/rocks/rocks_engine.h"

#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/names.h"
#include "storage/rocks/backup.h"
#include "storage/rocks/ballast.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/content_ids.h"
#include "storage/rocks/content_rows.h"
#include "storage/rocks/database.h"
#include "storage/rocks/disk_files.h"
#include "storage/rocks/disk_space.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/file_merger.h"
#include "storage/rocks/leases.h"
#include "storage/rocks/log_mark.h"
#include "storage/rocks/meta_rows.h"
#include "storage/rocks/pins.h"
#include "storage/rocks/quarantine.h"
#include "storage/rocks/reclaimer.h"
#include "storage/rocks/reference_rows.h"
#include "storage/rocks/rocks_scan.h"
#include "storage/rocks/rocks_staging.h"
#include "storage/rocks/row_checker.h"
#include "storage/rocks/rows.h"
#include "storage/rocks/staging_files.h"
#include "storage/rocks/start_up.h"
#include "storage/rocks/uptime_clock.h"

namespace coffer {
namespace rocks {
namespace {

// References that one operation sweeps: a slice that does not keep the others waiting.
constexpr size_t kSweepSlice = 128;

// An ingest takes about 1 ms with as many live files.
constexpr uint64_t kMaxSmallFiles = 2000;

class RocksEngine : public Engine {
 public:
  RocksEngine(DirectoryLock lock, std::unique_ptr<Database> database, StartState state, const RocksOptions& options)
      : lock_(std::move(lock)),
        data_dir_(options.data_dir),
        database_(std::move(database)),
        store_id_(std::move(state.store_id)),
        disk_space_(
            options.data_dir, [this] { return database_->unflushed_bytes(); }, [this] { database_->FlushSoon(); }),
        uptime_(state.uptime_ms),
        keeps_ballast_(options.keeps_ballast),
        committer_(
            *database_, state.totals, [this] { return uptime_.now_ms(); }, disk_space_),
        content_ids_(state.next_content),
        reclaimer_(*database_, committer_, pins_),
        staging_env_(NewStagingEnv(options.env != nullptr ? options.env : rocksdb::Env::Default(), buffers_)),
        disk_env_(NewDiskEnv(options.env != nullptr ? options.env : rocksdb::Env::Default())),
        staging_{.database = *database_,
                 .committer = committer_,
                 .content_ids = content_ids_,
                 .disk_space = disk_space_,
                 .publishing = publishing_,
                 .buffers = buffers_,
                 .reclaimer = reclaimer_,
                 .staging_dir = StagingDir(options.data_dir),
                 .ingested_options = database_->ingested_options()} {
    staging_.ingested_options.env = staging_env_.get();
    // A block goes into the staging file's buffer at once, and is not gathered in a buffer of RocksDB's first.
    staging_.ingested_options.writable_file_max_buffer_size = 4096;
  }

  // The rest of the start: what a crash left half done.
  absl::Status FinishLeftovers() {
    absl::StatusOr<std::vector<uint64_t>> intents = NumbersUnder(*database_, kIntentPrefix);
    if (!intents.ok()) return intents.status();
    for (ContentId content : *intents) {
      if (absl::Status status = DropUnpublished(*database_, committer_, content); !status.ok()) return status;
    }
    if (absl::Status status = reclaimer_.ReadNotes(); !status.ok()) return status;
    if (absl::Status status = reclaimer_.RemovePieces(); !status.ok()) return status;
    absl::StatusOr<std::vector<uint64_t>> buckets = NumbersUnder(*database_, kSweepPrefix);
    if (!buckets.ok()) return buckets.status();
    for (BucketId bucket : *buckets) {
      if (absl::Status status = Sweep(bucket); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // A failed mark only knows less.
  ~RocksEngine() override { MarkLog().IgnoreError(); }

  // Notes how long the logs are now. The batch before may be on its way into them, but Commit returns OK only after
  // that one has been synced as well, also if the operation adds no row.
  absl::Status MarkLog() {
    std::vector<LogExtent> logs;
    absl::Status listed = committer_.Commit(0, [&](Batch&) {
      absl::StatusOr<std::vector<LogExtent>> found = ListLogs(DatabaseDir(data_dir_));
      if (found.ok()) logs = *std::move(found);
      return found.status();
    });
    if (!listed.ok() || logs == marked_logs_) return listed;
    if (absl::Status status = WriteLogMark(data_dir_, logs); !status.ok()) return status;
    marked_logs_ = std::move(logs);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Staging>> Stage(uint64_t declared_size_bytes) override {
    absl::StatusOr<DiskSpace::Reservation> reservation = disk_space_.Reserve(declared_size_bytes);
    if (!reservation.ok()) return reservation.status();
    return std::make_unique<RocksStaging>(staging_, declared_size_bytes, *std::move(reservation));
  }

  absl::StatusOr<std::vector<bool>> PublishAll(absl::Span<const WholeBlob> blobs) override {
    return PublishWhole(staging_, blobs);
  }

  absl::StatusOr<uint64_t> Bind(const Reference& reference) override {
    if (absl::Status status = disk_space_.Check(0); !status.ok()) return status;
    Reference sized = reference;
    absl::Status status = committer_.Commit(0, [&](Batch& batch) -> absl::Status {
      absl::StatusOr<std::optional<std::string>> value = batch.Get(database_->records(), reference.digest.view());
      if (!value.ok()) return value.status();
      if (!value->has_value()) return BlobNotFound(reference.digest);
      absl::StatusOr<RecordRow> row = DecodeRecord(reference.digest, **value);
      if (!row.ok()) return row.status();
      if (row->record.is_quarantined) return BlobNotFound(reference.digest);
      sized.size_bytes = row->record.size_bytes;
      return SetReference(*database_, batch, sized, row->record);
    });
    if (!status.ok()) return status;
    return sized.size_bytes;
  }

  absl::StatusOr<std::unique_ptr<Content>> Open(const Digest& digest) override {
    return OpenContent(*database_, pins_, digest);
  }

  absl::StatusOr<std::optional<uint64_t>> Find(const Digest& digest) override {
    absl::StatusOr<std::optional<std::string>> value = ReadRow(*database_, database_->records(), digest.view());
    if (!value.ok()) return value.status();
    if (!value->has_value()) return std::optional<uint64_t>();
    absl::StatusOr<RecordRow> row = DecodeRecord(digest, **value);
    if (!row.ok()) return row.status();
    if (row->record.is_quarantined) return std::optional<uint64_t>();
    return std::optional<uint64_t>(row->record.size_bytes);
  }

  absl::StatusOr<Reference> Resolve(absl::string_view bucket, absl::string_view name) override {
    absl::StatusOr<BucketRow> in = BucketNamed(bucket);
    if (!in.ok()) return in.status();
    const std::string key = ReferenceKey(in->id, name);
    absl::StatusOr<std::optional<std::string>> value = ReadRow(*database_, database_->references(), key);
    if (!value.ok()) return value.status();
    if (!value->has_value()) return NameNotFound(bucket, name);
    return DecodeReference(key, bucket, **value);
  }

  absl::StatusOr<std::vector<ListedReference>> List(absl::string_view bucket, absl::string_view prefix,
                                                    absl::string_view after, size_t limit) override {
    absl::StatusOr<BucketRow> in = BucketNamed(bucket);
    if (!in.ok()) return in.status();
    const std::string key_prefix = ReferenceKey(in->id, prefix);
    const std::string key_after = ReferenceKey(in->id, after);
    std::vector<ListedReference> page;
    absl::Status status =
        ScanRows(*database_, database_->references(), {.prefix = key_prefix, .after = key_after, .limit = limit},
                 [&](absl::string_view key, absl::string_view value) {
                   page.push_back({NameInReferenceKey(key), DecodeReference(key, bucket, value)});
                   return absl::OkStatus();
                 });
    if (!status.ok()) return status;
    return page;
  }

  absl::StatusOr<uint64_t> Delete(absl::string_view bucket, absl::Span<const std::string> names) override {
    uint64_t deleted = 0;
    // For each name its reference, its back-link and a condemned digest.
    size_t size_bytes = 0;
    for (const std::string& name : names) size_bytes += 2 * name.size() + 200;
    absl::Status status = committer_.Commit(size_bytes, [&](Batch& batch) -> absl::Status {
      absl::StatusOr<std::optional<BucketRow>> in = FindBucket(*database_, batch, bucket);
      if (!in.ok() || !in->has_value()) return in.status();
      for (const std::string& name : names) {
        absl::StatusOr<bool> existed = RemoveReference(*database_, batch, (*in)->id, name);
        if (!existed.ok()) return existed.status();
        deleted += *existed ? 1 : 0;
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return deleted;
  }

  absl::StatusOr<bool> CreateBucket(const Bucket& bucket) override {
    bool created = false;
    absl::Status status = committer_.Commit(0, [&](Batch& batch) -> absl::Status {
      const uint64_t before = batch.totals.buckets;
      absl::StatusOr<BucketRow> row = EnsureBucket(*database_, batch, bucket);
      created = batch.totals.buckets > before;
      return row.status();
    });
    if (!status.ok()) return status;
    return created;
  }

  absl::StatusOr<bool> DeleteBucket(absl::string_view bucket) override {
    std::optional<BucketId> deleted;
    absl::Status status = committer_.Commit(0, [&](Batch& batch) -> absl::Status {
      absl::StatusOr<std::optional<BucketRow>> row = FindBucket(*database_, batch, bucket);
      if (!row.ok() || !row->has_value()) return row.status();
      deleted = (*row)->id;
      batch.Delete(database_->buckets(), bucket);
      batch.Put(database_->meta(), SweepKey(*deleted), "");
      --batch.totals.buckets;
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    if (!deleted.has_value()) return false;
    if (status = Sweep(*deleted); !status.ok()) return status;
    return true;
  }

  absl::StatusOr<std::vector<ListedBucket>> ListBuckets(absl::string_view after, size_t limit) override {
    std::vector<ListedBucket> page;
    absl::Status status = ScanRows(*database_, database_->buckets(), {.prefix = "", .after = after, .limit = limit},
                                   [&](absl::string_view key, absl::string_view value) {
                                     const std::string name(key);
                                     absl::StatusOr<BucketRow> row = DecodeBucket(key, value);
                                     if (row.ok()) {
                                       page.push_back({name, Bucket{name, row->created}});
                                     } else {
                                       page.push_back({name, row.status()});
                                     }
                                     return absl::OkStatus();
                                   });
    if (!status.ok()) return status;
    return page;
  }

  absl::StatusOr<std::vector<Digest>> ListDigests(const std::optional<Digest>& after, size_t limit) override {
    std::vector<Digest> page;
    const absl::string_view after_key = after.has_value() ? after->view() : "";
    absl::Status status =
        ScanRows(*database_, database_->records(), {.prefix = "", .after = after_key, .limit = limit},
                 [&](absl::string_view key, absl::string_view) {
                   absl::StatusOr<Digest> digest = Digest::FromBytes(key);
                   if (digest.ok()) page.push_back(*digest);
                   return digest.ok() ? absl::OkStatus() : absl::DataLossError("a record has a key that is no digest");
                 });
    if (!status.ok()) return status;
    return page;
  }

  absl::StatusOr<std::vector<Digest>> Lease(const Bucket& bucket, absl::Span<const Digest> digests,
                                            absl::Duration until) override {
    if (absl::Status status = disk_space_.Check(0); !status.ok()) return status;
    return LeaseContent(*database_, committer_, bucket, digests,
                        static_cast<uint64_t>(absl::ToInt64Milliseconds(until)));
  }

  absl::Duration Uptime() const override { return absl::Milliseconds(uptime_.now_ms()); }

  absl::StatusOr<std::vector<Condemned>> ListCondemned(const std::optional<Digest>& after, size_t limit) override {
    std::vector<Condemned> page;
    const absl::string_view after_key = after.has_value() ? after->view() : "";
    absl::Status status =
        ScanRows(*database_, database_->condemned(), {.prefix = "", .after = after_key, .limit = limit},
                 [&](absl::string_view key, absl::string_view value) -> absl::Status {
                   absl::StatusOr<Digest> digest = Digest::FromBytes(key);
                   if (!digest.ok()) return absl::DataLossError("a condemned row has a key that is no digest");
                   absl::StatusOr<uint64_t> since_ms = DecodeNumber(key, value);
                   if (since_ms.ok()) {
                     page.push_back({*digest, absl::Milliseconds(*since_ms)});
                   } else {
                     page.push_back({*digest, since_ms.status()});
                   }
                   return absl::OkStatus();
                 });
    if (!status.ok()) return status;
    return page;
  }

  absl::StatusOr<Erasure> EraseCondemned(absl::Span<const Digest> digests, absl::Duration until,
                                         bool dry_run) override {
    if (until < absl::ZeroDuration()) return Erasure();
    return reclaimer_.EraseCondemned(digests, static_cast<uint64_t>(absl::ToInt64Milliseconds(until)), dry_run);
  }

  absl::StatusOr<Quarantining> Quarantine(const Digest& digest, uint64_t version, absl::string_view reason) override {
    return QuarantineContent(*database_, committer_, digest, version, reason);
  }

  absl::StatusOr<std::vector<Quarantined>> ListQuarantined(const std::optional<Digest>& after, size_t limit) override {
    return rocks::ListQuarantined(*database_, after, limit);
  }

  absl::StatusOr<std::unique_ptr<DiskScan>> ScanDisk(const std::optional<Digest>& after,
                                                     const ScanLimits& limits) override {
    return std::make_unique<RocksScan>(*database_, disk_env_.get(), after, limits);
  }

  absl::StatusOr<std::unique_ptr<Content>> OpenOnDisk(const Digest& digest) override {
    return rocks::OpenOnDisk(*database_, pins_, disk_env_.get(), digest);
  }

  absl::StatusOr<RowCheck> CheckRows(absl::string_view cursor, size_t limit) override {
    return rocks::CheckRows(*database_, committer_, cursor, limit);
  }

  absl::StatusOr<ScrubState> LoadScrubState() override {
    absl::StatusOr<std::optional<std::string>> value = ReadRow(*database_, database_->meta(), kScrubKey);
    if (!value.ok()) return value.status();
    return value->has_value() ? DecodeScrubState(kScrubKey, **value) : ScrubState();
  }

  absl::Status StoreScrubState(const ScrubState& state) override {
    const auto put = [&](Batch& batch) {
      batch.Put(database_->meta(), kScrubKey, EncodeScrubState(kScrubKey, state));
      return absl::OkStatus();
    };
    return committer_.Commit(0, put, Lane::kBulk);
  }

  absl::Status Maintain() override {
    const absl::StatusOr<DiskSpace::Room> room = disk_space_.Measure();
    if (keeps_ballast_ && room.ok()) AdjustBallast(data_dir_, *room);
    if (absl::Status status = reclaimer_.RemovePieces(); !status.ok()) return status;
    if (absl::Status status = reclaimer_.CompactGathered(disk_space_); !status.ok()) return status;
    if (absl::Status status = MergeSmallFiles(*database_, disk_space_, kMaxSmallFiles); !status.ok()) return status;
    return MarkLog();
  }

  absl::StatusOr<BackupSummary> Backup(const std::string& backup_dir, const std::string& name) override {
    const std::lock_guard lock(backing_up_);
    return MakeBackup(*database_, data_dir_, backup_dir, name);
  }

  EngineStatus GetStatus() const override {
    EngineStatus status;
    status.totals = committer_.totals();
    status.store_id = store_id_;
    status.description = DescribeRocksDb();
    status.staging_bytes = staging_.staging_bytes;
    status.puts_new = staging_.puts_new;
    status.puts_deduplicated = staging_.puts_deduplicated;
    status.deduplicated_bytes = staging_.deduplicated_bytes;
    if (const absl::StatusOr<DiskSpace::Room> room = disk_space_.Measure(); room.ok()) {
      status.disk_total_bytes = room->total_bytes;
      status.disk_free_bytes = room->free_bytes;
      status.disk_low_water_bytes = room->low_water_bytes;
    }
    return status;
  }

 private:
  absl::StatusOr<BucketRow> BucketNamed(absl::string_view bucket) {
    absl::StatusOr<std::optional<std::string>> value = ReadRow(*database_, database_->buckets(), bucket);
    if (!value.ok()) return value.status();
    if (!value->has_value()) return BucketNotFound(bucket);
    return DecodeBucket(bucket, **value);
  }

  // Removes what is left of a deleted bucket, slice by slice, and then the note to do so.
  absl::Status Sweep(BucketId bucket) {
    if (absl::Status status = EndLeases(*database_, committer_, bucket); !status.ok()) return status;
    const std::string prefix = ReferenceKey(bucket, "");
    while (true) {
      std::vector<std::string> names;
      absl::Status status = ScanRows(*database_, database_->references(), {.prefix = prefix, .limit = kSweepSlice},
                                     [&](absl::string_view key, absl::string_view) {
                                       names.push_back(NameInReferenceKey(key));
                                       return absl::OkStatus();
                                     });
      if (!status.ok()) return status;
      const auto remove = [&](Batch& batch) -> absl::Status {
        for (const std::string& name : names) {
          absl::Status removed = RemoveReference(*database_, batch, bucket, name).status();
          if (!removed.ok()) return removed;
        }
        if (names.empty()) batch.Delete(database_->meta(), SweepKey(bucket));
        return absl::OkStatus();
      };
      status = committer_.Commit(0, remove, Lane::kBulk);
      if (!status.ok() || names.empty()) return status;
    }
  }

  // Destroyed last to first: the lock is freed when everything else is closed.
  const DirectoryLock lock_;
  const std::string data_dir_;
  const std::unique_ptr<Database> database_;
  const std::string store_id_;
  const DiskSpace disk_space_;
  const UptimeClock uptime_;
  const bool keeps_ballast_;
  Committer committer_;
  ContentIds content_ids_;
  Pins pins_;
  Reclaimer reclaimer_;
  PublishingDigests publishing_;
  BufferStock buffers_;
  // Held by whoever makes a backup.
  std::mutex backing_up_;
  const std::unique_ptr<rocksdb::Env> staging_env_;
  const std::unique_ptr<rocksdb::Env> disk_env_;
  StagingContext staging_;
  // What the mark says. Used by whoever maintains, and by start and end.
  std::vector<LogExtent> marked_logs_;
};

}  // namespace
}  // namespace rocks

absl::StatusOr<std::unique_ptr<Engine>> OpenRocksEngine(const RocksOptions& options) {
  absl::StatusOr<rocks::DirectoryLock> lock = rocks::DirectoryLock::Take(options.data_dir);
  if (!lock.ok()) return lock.status();
  if (absl::Status status = rocks::EnsureStore(options.data_dir, options.env); !status.ok()) return status;
  absl::Status log = rocks::PrepareLog(options.data_dir, options.env, options.notice);
  if (!log.ok()) return log;
  if (options.keeps_ballast) {
    // Replaying the log takes space as well.
    const absl::StatusOr<rocks::DiskSpace::Room> room = rocks::DiskSpace(
                                                            options.data_dir, [] { return uint64_t{0}; }, [] {})
                                                            .Measure();
    if (room.ok()) rocks::AdjustBallast(options.data_dir, *room);
  }
  absl::StatusOr<std::unique_ptr<rocks::Database>> database =
      rocks::Database::Open(rocks::DatabaseDir(options.data_dir), options.env);
  if (!database.ok()) return database.status();
  absl::StatusOr<rocks::StartState> state = rocks::ReadStartState(**database, options.data_dir);
  if (!state.ok()) return state.status();
  auto engine =
      std::make_unique<rocks::RocksEngine>(*std::move(lock), *std::move(database), *std::move(state), options);
  if (absl::Status status = engine->FinishLeftovers(); !status.ok()) return status;
  if (absl::Status status = engine->MarkLog(); !status.ok()) return status;
  return engine;
}

}  // namespace coffer
