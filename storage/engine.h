// SPDX-License-Identifier: Apache-2.0
//
// The seam between the store's logic and a database. An engine keeps pieces, records, references, back-links
// and buckets; it knows nothing of hashing or verification. Every change is one atomic, durable step:
//
//   1. Stage() and Staging::Add() collect the pieces of a blob, invisibly;
//   2. Staging::Publish() makes the record appear if it is absent, and writes the reference with it;
//   3. a crash before 2 leaves nothing that a reader could see, and the engine removes it at its next start.
//
// What an implementation must do is held by tests/contract/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "hashing/digest.h"
#include "storage/layout.h"
#include "storage/reference.h"

namespace coffer {

// scrub.h
class DiskScan;
struct RowCheck;
struct ScanLimits;
struct ScrubState;

// The pieces of one blob that is not published. Used by one thread at a time; discards them when destroyed
// before Publish has returned OK.
class Staging {
 public:
  virtual ~Staging() = default;

  // Adds a piece. Ids come in increasing order. RESOURCE_EXHAUSTED when the disk is at its low-water mark,
  // UNAVAILABLE when it failed.
  virtual absl::Status Add(const PieceId& id, absl::string_view bytes) = 0;

  // Publishes the pieces as the content of reference.digest, if that has no record yet, and points the reference
  // at it, making the bucket. Returns true if the content was there already; the pieces are dropped then. The
  // last call to make, also after an error.
  virtual absl::StatusOr<bool> Publish(const Reference& reference) = 0;
};

// A blob that is in memory as a whole, to be published together with others. Views are borrowed for the call.
struct WholeBlob {
  struct Piece {
    PieceId id;
    absl::string_view bytes;
  };

  Reference reference;
  // Every piece, in increasing order.
  std::vector<Piece> pieces;
};

// A published blob, pinned: it stays readable until this is destroyed, whatever is deleted meanwhile. Used by
// one thread at a time.
class Content {
 public:
  virtual ~Content() = default;

  virtual uint64_t size_bytes() const = 0;

  // Names what is stored: the same content put anew has another one. 0: not known.
  virtual uint64_t version() const = 0;

  // Why the content is quarantined; empty if it is not. It may be read all the same, as far as it can be proven.
  virtual absl::string_view quarantine() const = 0;

  // The bytes of a piece, valid until the next call. DATA_LOSS if the engine finds it missing or damaged,
  // UNAVAILABLE if the disk cannot be read.
  virtual absl::StatusOr<absl::string_view> Read(const PieceId& id) = 0;
};

// Totals over the whole store, kept with every change.
struct EngineTotals {
  uint64_t blobs = 0;
  uint64_t content_bytes = 0;
  uint64_t references = 0;
  uint64_t referenced_bytes = 0;
  uint64_t buckets = 0;
};

struct EngineStatus {
  EngineTotals totals;
  // 32 hex digits, made with the store.
  std::string store_id;
  // Name and build of the engine, for people.
  std::string description;
  // Bytes staged by uploads under way.
  uint64_t staging_bytes = 0;
  uint64_t disk_total_bytes = 0;
  uint64_t disk_free_bytes = 0;
  uint64_t disk_low_water_bytes = 0;
  // Since the start.
  uint64_t puts_new = 0;
  uint64_t puts_deduplicated = 0;
  uint64_t deduplicated_bytes = 0;
};

// A row of a listing that may be damaged: DATA_LOSS in place of it names what it stands for.
struct ListedReference {
  std::string name;
  absl::StatusOr<Reference> reference;
};
struct ListedBucket {
  std::string name;
  absl::StatusOr<Bucket> bucket;
};

// Content that lost a reference or has a lease.
struct Condemned {
  Digest digest;
  // Uptime of the last loss, or at which the last lease ends. DATA_LOSS if the row is damaged.
  absl::StatusOr<absl::Duration> since;
};

// Content that failed a check and was not put again since.
struct Quarantined {
  Digest digest;
  // For people. DATA_LOSS if the row is damaged.
  absl::StatusOr<std::string> reason;
};

// What became of content that was to be quarantined.
enum class Quarantining {
  // It is not stored any more, or was put anew: nothing was done.
  kGone,
  // What the engine had in memory of it is sound, and was written to the disk anew.
  kRepaired,
  // It counts as missing, now or already before.
  kQuarantined,
};

// What was erased.
struct Erasure {
  uint64_t blobs = 0;
  uint64_t content_bytes = 0;
};

// What a backup holds, and what it took.
struct BackupSummary {
  uint64_t blobs = 0;
  uint64_t written_bytes = 0;
  // Bytes of files that earlier backups have as well.
  uint64_t shared_bytes = 0;
};

// Thread-safe; calls block until the change is durable. Besides the codes named below, every call may return
// DATA_LOSS (a row that it needs is damaged) and UNAVAILABLE (the disk failed), and every one that adds something
// RESOURCE_EXHAUSTED (the disk is at its low-water mark). After any error nothing has changed.
class Engine {
 public:
  virtual ~Engine() = default;

  // Starts an upload. RESOURCE_EXHAUSTED if the disk has no room for `declared_size_bytes` (0: not known).
  virtual absl::StatusOr<std::unique_ptr<Staging>> Stage(uint64_t declared_size_bytes) = 0;

  // Does for each blob what Staging::Publish does, for all of them in one step. Returns for each whether its content
  // was there already. RESOURCE_EXHAUSTED if the disk has no room.
  virtual absl::StatusOr<std::vector<bool>> PublishAll(absl::Span<const WholeBlob> blobs) = 0;

  // Points a reference at stored content, making the bucket; returns the content's size. NOT_FOUND if there is
  // no record of reference.digest. reference.size_bytes is not read.
  virtual absl::StatusOr<uint64_t> Bind(const Reference& reference) = 0;

  // Opens and pins, also what is quarantined. NOT_FOUND if there is no record.
  virtual absl::StatusOr<std::unique_ptr<Content>> Open(const Digest& digest) = 0;

  // The size of a stored blob, or nothing; nothing for one that is quarantined.
  virtual absl::StatusOr<std::optional<uint64_t>> Find(const Digest& digest) = 0;

  // NOT_FOUND, naming the bucket if that is what is missing.
  virtual absl::StatusOr<Reference> Resolve(absl::string_view bucket, absl::string_view name) = 0;

  // Up to `limit` references in byte order of names, with names > `after` that start with `prefix`. NOT_FOUND
  // if the bucket does not exist.
  virtual absl::StatusOr<std::vector<ListedReference>> List(absl::string_view bucket, absl::string_view prefix,
                                                            absl::string_view after, size_t limit) = 0;

  // Removes names, all in one step. Returns how many existed.
  virtual absl::StatusOr<uint64_t> Delete(absl::string_view bucket, absl::Span<const std::string> names) = 0;

  // Returns false if it existed.
  virtual absl::StatusOr<bool> CreateBucket(const Bucket& bucket) = 0;

  // Removes the bucket and all its names in one step, and ends its leases. Returns false if it did not exist. After an
  // error the names may be gone all the same; what is left of them goes with the next start.
  virtual absl::StatusOr<bool> DeleteBucket(absl::string_view bucket) = 0;

  // Up to `limit` buckets in byte order, with names > `after`.
  virtual absl::StatusOr<std::vector<ListedBucket>> ListBuckets(absl::string_view after, size_t limit) = 0;

  // Up to `limit` stored digests in byte order, from the first that is > `after` (none: from the start).
  virtual absl::StatusOr<std::vector<Digest>> ListDigests(const std::optional<Digest>& after, size_t limit) = 0;

  // Keeps what is stored of `digests` for `bucket`, which is made if it is absent, until `until` (uptime): it is not
  // erased before, whatever is deleted. A lease of the bucket on the same content that lasts longer stays. Returns
  // those that are not stored and so not leased. After an error some may be leased.
  virtual absl::StatusOr<std::vector<Digest>> Lease(const Bucket& bucket, absl::Span<const Digest> digests,
                                                    absl::Duration until) = 0;

  // Time that this store has been served, over all processes. Grace periods and leases are measured by it, so that
  // neither a clock that jumps nor a time out of service ages anything.
  virtual absl::Duration Uptime() const = 0;

  // Up to `limit` digests in byte order, from the first that is > `after`, that lost a reference or had a lease and
  // were not looked at since: content that may be garbage.
  virtual absl::StatusOr<std::vector<Condemned>> ListCondemned(const std::optional<Digest>& after, size_t limit) = 0;

  // Erases, of `digests`, what was condemned at or before `until` (uptime) and has neither a reference nor a live
  // lease; what has a reference alone is condemned no more. A reader that is open keeps its content. Space comes back
  // with Maintain. `dry_run`: changes nothing, and returns the same.
  virtual absl::StatusOr<Erasure> EraseCondemned(absl::Span<const Digest> digests, absl::Duration until,
                                                 bool dry_run) = 0;

  // Sets content aside that failed a check, if `version` is still what is stored: from now on it counts as missing, for
  // Find, Bind, Lease and Publish; Open finds it and says so. Nothing of it is erased, its references stay, and a
  // publication of the same content takes its place in one step. Version 0 is what stands in a row of the engine's own;
  // it is looked at again first.
  virtual absl::StatusOr<Quarantining> Quarantine(const Digest& digest, uint64_t version, absl::string_view reason) = 0;

  // Up to `limit` quarantined digests in byte order, from the first that is > `after`.
  virtual absl::StatusOr<std::vector<Quarantined>> ListQuarantined(const std::optional<Digest>& after,
                                                                   size_t limit) = 0;

  // Stored content as it is on the disk, past every cache: a page of it in digest order, from the first digest that is
  // > `after` (none: from the start), and one blob, which is pinned (NOT_FOUND, DATA_LOSS if its record on the disk is
  // damaged).
  virtual absl::StatusOr<std::unique_ptr<DiskScan>> ScanDisk(const std::optional<Digest>& after,
                                                             const ScanLimits& limits) = 0;
  virtual absl::StatusOr<std::unique_ptr<Content>> OpenOnDisk(const Digest& digest) = 0;

  // Checks references, records and back-links against each other, about `limit` rows from `cursor` (empty: from the
  // start). What is found holds in one and the same commit. A reference without a back-link gets one.
  virtual absl::StatusOr<RowCheck> CheckRows(absl::string_view cursor, size_t limit) = 0;

  // What the scrubber stored last; a new one if it stored nothing.
  virtual absl::StatusOr<ScrubState> LoadScrubState() = 0;
  virtual absl::Status StoreScrubState(const ScrubState& state) = 0;

  // What is due in the background: gives back the space of erased content that nobody reads any more, and keeps the
  // number of files bounded. To be called every few seconds, by one thread at a time.
  virtual absl::Status Maintain() = 0;

  // Copies the store as it is at some moment during the call to `name` in directory `backup_dir`, and verifies the
  // copy. ALREADY_EXISTS; DATA_LOSS, and no backup, if something in the store is damaged; UNIMPLEMENTED by an
  // engine that keeps nothing on a disk.
  virtual absl::StatusOr<BackupSummary> Backup(const std::string& backup_dir, const std::string& name);

  virtual EngineStatus GetStatus() const = 0;
};

// The NOT_FOUND that every engine answers with.
absl::Status BlobNotFound(const Digest& digest);
absl::Status BucketNotFound(absl::string_view bucket);
absl::Status NameNotFound(absl::string_view bucket, absl::string_view name);

}  // namespace coffer
