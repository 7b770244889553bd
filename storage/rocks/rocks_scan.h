// SPDX-License-Identifier: Apache-2.0
//
// A page of a scan, past every cache (DiskScan):
//
//   1. records come in order of digests; each is compared with its row on the disk. Inline content is handed out from
//      there at once, and where the other content is, is remembered;
//   2. that is handed out in order of content ids, so that the files of content are read forward;
//   3. what no file has may be in a memtable only: once a page, these are written to files and the files listed anew.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/engine.h"
#include "storage/rocks/database.h"
#include "storage/rocks/disk_rows.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/pins.h"
#include "storage/scrub.h"

namespace coffer::rocks {

// The families that content is read from. Used by one thread at a time.
class DiskView {
 public:
  DiskView(Database& database, rocksdb::Env* disk_env);

  // As DiskRows::Get, with step 3 above.
  absl::StatusOr<std::optional<absl::string_view>> Record(absl::string_view key);
  absl::StatusOr<std::optional<absl::string_view>> Piece(Placement placement, absl::string_view key);

  // Writes what is in memtables to files, and forgets which files there are.
  absl::Status Flush();

 private:
  absl::StatusOr<std::optional<absl::string_view>> Get(DiskRows& rows, absl::string_view key);

  Database& database_;
  DiskRows records_;
  DiskRows gathered_;
  DiskRows ingested_;
  bool is_flushed_ = false;
};

class RocksScan : public DiskScan {
 public:
  // Borrows both.
  RocksScan(Database& database, rocksdb::Env* disk_env, const std::optional<Digest>& after, const ScanLimits& limits);

  absl::StatusOr<std::optional<ScannedBlob>> Next() override;
  std::optional<Digest> last() const override { return last_; }

 private:
  struct Stored {
    Digest digest;
    Record record;
  };

  absl::Status ReadRows();
  std::optional<ScannedBlob> TakeRow(const Digest& digest, const std::string& value);

  Database& database_;
  DiskView view_;
  const ScanLimits limits_;
  std::string after_;
  std::optional<Digest> last_;
  // Records that were read from the database and not looked at.
  std::deque<std::pair<Digest, std::string>> rows_;
  // Places where records could not be read.
  std::deque<std::string> lost_;
  // There are no more behind rows_.
  bool all_are_read_ = false;
  bool records_are_read_ = false;
  size_t blobs_ = 0;
  uint64_t content_bytes_ = 0;
  // Sorted, once all records of the page were looked at; then from next_ on still to be handed out.
  std::vector<Stored> contents_;
  size_t next_ = 0;
};

// Engine::OpenOnDisk.
absl::StatusOr<std::unique_ptr<Content>> OpenOnDisk(Database& database, Pins& pins, rocksdb::Env* disk_env,
                                                    const Digest& digest);

}  // namespace coffer::rocks
