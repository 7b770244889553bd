// SPDX-License-Identifier: Apache-2.0
//
// The database on disk: its directory and lock, its column families and their options (FORMAT.md 8).
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_buffer_manager.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/rocks/publish_gate.h"

namespace coffer::rocks {

// How long a file of content gets before the next one begins, whoever writes it: a blob of 1 TiB has 4,096.
inline constexpr uint64_t kContentFileBytes = uint64_t{256} << 20;

// Protect a row in memory, in batches and memtables. The only width that RocksDB has.
inline constexpr uint32_t kProtectionBytes = 8;

// Maps a failure to the codes that users see: full disk RESOURCE_EXHAUSTED, failed check DATA_LOSS, anything
// else that the disk did UNAVAILABLE. `what` names what was being done.
absl::Status ToStatus(const rocksdb::Status& status, absl::string_view what);

inline rocksdb::Slice ToSlice(absl::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline absl::string_view ToView(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

// Holds a file lock on the data directory for its lifetime.
class DirectoryLock {
 public:
  // Makes the directory if needed. FAILED_PRECONDITION naming the process that holds it; UNAVAILABLE if it cannot
  // be made or written.
  static absl::StatusOr<DirectoryLock> Take(const std::string& data_dir);

  // The same, and writes nothing: for who only reads. Nothing if there is no lock file, so that nobody serves it.
  static absl::StatusOr<std::optional<DirectoryLock>> TakeForReading(const std::string& data_dir);

  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  absl::Status Lock(const std::string& data_dir);

  int fd_;
};

// Thread-safe as RocksDB is. Closing waits for its background work.
class Database {
 public:
  // Opens the database at `path`; the caller holds the lock. FAILED_PRECONDITION if it has other column families than
  // this program knows, DATA_LOSS if it is damaged, UNAVAILABLE if the disk fails.
  // `env` is borrowed; null means the real disk.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path, rocksdb::Env* env);

  // Opens it for reading and changes nothing. Replays, in memory, the logs that are in `log_dir`: that is `path`, or
  // another directory for what the table files hold alone. Codes as Open's.
  static absl::StatusOr<std::unique_ptr<Database>> OpenReadOnly(const std::string& path, const std::string& log_dir,
                                                                rocksdb::Env* env);

  // The same for a path at which there is nothing.
  static absl::StatusOr<std::unique_ptr<Database>> Create(const std::string& path, rocksdb::Env* env);

  ~Database();

  rocksdb::DB& db() { return *db_; }
  rocksdb::ColumnFamilyHandle* meta() const { return families_[0]; }
  rocksdb::ColumnFamilyHandle* buckets() const { return families_[1]; }
  rocksdb::ColumnFamilyHandle* references() const { return families_[2]; }
  rocksdb::ColumnFamilyHandle* records() const { return families_[3]; }
  rocksdb::ColumnFamilyHandle* links() const { return families_[4]; }
  rocksdb::ColumnFamilyHandle* condemned() const { return families_[5]; }
  rocksdb::ColumnFamilyHandle* leases() const { return families_[6]; }
  rocksdb::ColumnFamilyHandle* quarantined() const { return families_[7]; }
  rocksdb::ColumnFamilyHandle* gathered() const { return families_[8]; }
  rocksdb::ColumnFamilyHandle* ingested() const { return families_[9]; }

  // What the memtables hold: it will be written to table files.
  uint64_t unflushed_bytes() const { return memtables_->memory_usage(); }

  // Whether writes are refused because a flush or compaction found no space. Such a write reaches no log, and RocksDB
  // goes on by itself when there is space again.
  bool waits_for_space() const { return waits_for_space_->load(); }

  // Starts writing the memtables to table files, and does not wait for it.
  void FlushSoon();

  // Held shared by whoever changes both the set of table files and rows that speak of them, from the first to the last.
  PublishGate& publish_gate() { return publish_gate_; }

  // Writes the memtables to table files. RESOURCE_EXHAUSTED, UNAVAILABLE.
  absl::Status Flush();

  // What a sorted file for ingested() must be written with.
  const rocksdb::Options& ingested_options() const { return ingested_options_; }

 private:
  Database() = default;
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path, rocksdb::Env* env, bool create);

  PublishGate publish_gate_;
  std::shared_ptr<std::atomic<bool>> waits_for_space_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<rocksdb::WriteBufferManager> memtables_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  rocksdb::Options ingested_options_;
};

}  // namespace coffer::rocks
