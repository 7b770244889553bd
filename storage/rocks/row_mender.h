// SPDX-License-Identifier: Apache-2.0
//
// Makes the rows fit each other after the end of the log was lost: each family of rows may then be as it was at another
// moment. What cannot stay is dropped and named; nothing is made up.
#pragma once

#include <rocksdb/write_batch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "storage/engine.h"
#include "storage/rocks/database.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/rocks_engine.h"

namespace coffer::rocks {

// Used by one thread, once. `database` is borrowed; nothing else writes to it.
class RowMender {
 public:
  RowMender(Database& database, const Notice& loss) : database_(database), loss_(loss) {}

  // All of it is on the disk when it returns OK. DATA_LOSS if rows cannot be read, UNAVAILABLE. May be run again.
  absl::Status Run();

  uint64_t blobs_dropped() const { return blobs_dropped_; }
  uint64_t references_dropped() const { return references_dropped_; }

 private:
  // Buckets keep their numbers; references of a number that has no name any more are swept by the next start.
  absl::Status MendBuckets();
  // A record goes if pieces of its content are missing.
  absl::Status MendRecords();
  // A reference goes if its record did; its back-link is made if it is missing.
  absl::Status MendReferences();
  absl::Status MendReference(absl::string_view key, absl::string_view value);
  // A back-link goes if its reference did, and what it belongs to is condemned.
  absl::Status MendLinks();
  absl::Status MendLink(absl::string_view key, absl::string_view value);
  absl::Status MendFirstLink(const Digest& digest, const Record& record);
  // Pieces that no record has.
  absl::Status DropPieces(rocksdb::ColumnFamilyHandle* family);
  // Of content that a record names: the start would remove its pieces.
  absl::Status DropOldNotes();
  absl::Status WriteMeta();

  absl::StatusOr<bool> Names(BucketId bucket, absl::string_view name, const Digest& digest);
  void Condemn(const Digest& digest);
  // Writes what has been gathered if it is much, or `all` of it.
  absl::Status Flush(bool all);

  Database& database_;
  const Notice& loss_;
  rocksdb::WriteBatch batch_;
  EngineTotals totals_;
  uint64_t uptime_ms_ = 0;
  uint64_t next_content_ = 1;
  uint64_t next_bucket_ = 1;
  absl::flat_hash_set<BucketId> buckets_;
  absl::flat_hash_set<BucketId> swept_;
  // Indexed by content id.
  std::vector<bool> owned_;
  uint64_t blobs_dropped_ = 0;
  uint64_t references_dropped_ = 0;
};

}  // namespace coffer::rocks
