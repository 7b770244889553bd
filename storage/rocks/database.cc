// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/database.h"

#include <fcntl.h>
#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "storage/rocks/file_checksum.h"

namespace coffer::rocks {
namespace {

// Blocks, indexes and filters of all column families together: the bulk of the server's memory.
constexpr size_t kCacheBytes = size_t{128} << 20;
// Memtables of all column families together.
constexpr size_t kMemtableBytes = size_t{128} << 20;
// Table readers kept open. Far below the usual limit of 1,024 descriptors, which connections need as well.
constexpr int kOpenFiles = 512;

// In the order of Database's accessors; the two of content come last.
constexpr const char* kFamilies[] = {"default",   "buckets", "references",  "records",  "links",
                                     "condemned", "leases",  "quarantined", "gathered", "ingested"};

// Notes whether RocksDB refuses writes for want of space that a flush or compaction needed.
class SpaceListener : public rocksdb::EventListener {
 public:
  explicit SpaceListener(std::shared_ptr<std::atomic<bool>> waits_for_space)
      : waits_for_space_(std::move(waits_for_space)) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override {
    const bool in_background = reason == rocksdb::BackgroundErrorReason::kFlush ||
                               reason == rocksdb::BackgroundErrorReason::kFlushNoWAL ||
                               reason == rocksdb::BackgroundErrorReason::kCompaction;
    *waits_for_space_ = in_background && error->IsNoSpace();
    // Its input is as it was, and whoever reads the damaged place is told so; refusing all writes would make it worse.
    if (reason == rocksdb::BackgroundErrorReason::kCompaction && error->IsCorruption()) *error = rocksdb::Status::OK();
  }
  void OnErrorRecoveryEnd(const rocksdb::BackgroundErrorRecoveryInfo& info) override {
    if (info.new_bg_error.ok()) *waits_for_space_ = false;
  }

 private:
  const std::shared_ptr<std::atomic<bool>> waits_for_space_;
};

// Whether files beside `path` can be written past the page cache: not on every file system.
bool HasDirectIo(const std::string& path) {
  const std::string probe = path + ".probe";
  const int fd = open(probe.c_str(), O_WRONLY | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
  unlink(probe.c_str());
  if (fd < 0) return false;
  close(fd);
  return true;
}

std::string ErrnoText() { return std::strerror(errno); }

rocksdb::BlockBasedTableOptions TableOptions(const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  // Debian's RocksDB computes CRC32C in software; XXH3 is an order of magnitude faster.
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  return table;
}

rocksdb::ColumnFamilyOptions PointOptions(const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions options;
  // Small rows in random order: a memtable of 64 MiB would hold half a million, far too many for the CPU's caches.
  options.write_buffer_size = size_t{16} << 20;
  options.max_bytes_for_level_base = uint64_t{512} << 20;
  options.memtable_whole_key_filtering = true;
  options.memtable_prefix_bloom_size_ratio = 0.1;
  rocksdb::BlockBasedTableOptions table = TableOptions(cache);
  // One absent key in a thousand costs a read of a block, which is a hundred times slower than a filter.
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(15));
  // Without a look-up in the cache for each filter that a look-up of what is absent asks.
  table.metadata_cache_options.unpartitioned_pinning = rocksdb::PinningTier::kAll;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.compression = rocksdb::kNoCompression;
  options.memtable_protection_bytes_per_key = kProtectionBytes;
  options.level_compaction_dynamic_level_bytes = true;
  return options;
}

// Rows of up to 64 KiB, in order of ids that only go up: files never overlap, so compaction moves them whole.
rocksdb::ColumnFamilyOptions ContentOptions(const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(TableOptions(cache)));
  options.compression = rocksdb::kNoCompression;
  options.memtable_protection_bytes_per_key = kProtectionBytes;
  options.level_compaction_dynamic_level_bytes = true;
  options.target_file_size_base = kContentFileBytes;
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> Families(const std::shared_ptr<rocksdb::Cache>& cache) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const char* name : kFamilies) families.emplace_back(name, PointOptions(cache));
  families[std::size(kFamilies) - 2].options = ContentOptions(cache);
  families[std::size(kFamilies) - 1].options = ContentOptions(cache);
  return families;
}

// A database that is only read leaves no log of its doings.
class NoLogger : public rocksdb::Logger {
 public:
  using Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// FAILED_PRECONDITION unless the database has the families that this program knows.
absl::Status CheckFamilies(const std::string& path, rocksdb::Env* env) {
  std::vector<std::string> found;
  rocksdb::DBOptions options;
  if (env != nullptr) options.env = env;
  const rocksdb::Status status = rocksdb::DB::ListColumnFamilies(options, path, &found);
  // Whatever is wrong here, what was stored cannot be read; an empty store in its place would hide that.
  if (!status.ok()) {
    return absl::DataLossError(absl::StrCat("database ", path, " cannot be read: ", status.ToString()));
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> known(std::begin(kFamilies), std::end(kFamilies));
  std::sort(known.begin(), known.end());
  if (found == known) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "database ", path, " has the column families ", absl::StrJoin(found, ", "), ", but this program knows ",
      absl::StrJoin(known, ", "), ": use the program that wrote it, or a newer one"));
}

}  // namespace

absl::Status ToStatus(const rocksdb::Status& status, absl::string_view what) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = absl::StrCat(what, ": ", status.ToString());
  if (status.IsNoSpace()) return absl::ResourceExhaustedError(message);
  if (status.IsCorruption()) return absl::DataLossError(message);
  return absl::UnavailableError(message);
}

absl::StatusOr<DirectoryLock> DirectoryLock::Take(const std::string& data_dir) {
  std::error_code error;
  std::filesystem::create_directories(data_dir, error);
  if (error) {
    return absl::UnavailableError(absl::StrCat("data directory ", data_dir, " cannot be made: ", error.message()));
  }
  const std::string path = absl::StrCat(data_dir, "/cofferd.lock");
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    return absl::UnavailableError(absl::StrCat("data directory ", data_dir, " cannot be written: ", ErrnoText()));
  }
  DirectoryLock lock(fd);
  if (absl::Status status = lock.Lock(data_dir); !status.ok()) return status;
  const std::string pid = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return absl::UnavailableError(absl::StrCat("lock file ", path, " cannot be written: ", ErrnoText()));
  }
  return lock;
}

absl::StatusOr<std::optional<DirectoryLock>> DirectoryLock::TakeForReading(const std::string& data_dir) {
  const std::string path = absl::StrCat(data_dir, "/cofferd.lock");
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return std::optional<DirectoryLock>();
  if (fd < 0) return absl::UnavailableError(absl::StrCat("lock file ", path, " cannot be read: ", ErrnoText()));
  DirectoryLock lock(fd);
  if (absl::Status status = lock.Lock(data_dir); !status.ok()) return status;
  return std::optional<DirectoryLock>(std::move(lock));
}

absl::Status DirectoryLock::Lock(const std::string& data_dir) {
  if (flock(fd_, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  char holder[32] = {};
  const ssize_t got = pread(fd_, holder, sizeof(holder) - 1, 0);
  const absl::string_view pid = absl::StripSuffix(absl::string_view(holder, got > 0 ? got : 0), "\n");
  return absl::FailedPreconditionError(absl::StrCat("data directory ", data_dir, " is in use by process ",
                                                    pid.empty() ? "(unknown)" : pid,
                                                    ": stop it, or choose another directory"));
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<std::unique_ptr<Database>> Database::Create(const std::string& path, rocksdb::Env* env) {
  return Open(path, env, true);
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path, rocksdb::Env* env) {
  if (absl::Status status = CheckFamilies(path, env); !status.ok()) return status;
  return Open(path, env, false);
}

absl::StatusOr<std::unique_ptr<Database>> Database::OpenReadOnly(const std::string& path, const std::string& log_dir,
                                                                 rocksdb::Env* env) {
  if (absl::Status status = CheckFamilies(path, env); !status.ok()) return status;
  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(kCacheBytes);
  rocksdb::DBOptions options;
  if (env != nullptr) options.env = env;
  options.max_open_files = kOpenFiles;
  options.wal_dir = log_dir;
  // A torn end is still there; whoever cares has looked at the log before.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.paranoid_checks = true;
  options.skip_stats_update_on_db_open = true;
  options.file_checksum_gen_factory = NewFileChecksumFactory();
  options.info_log = std::make_shared<NoLogger>();
  std::unique_ptr<Database> database(new Database);
  database->memtables_ = options.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(0);
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::OpenForReadOnly(options, path, Families(cache), &database->families_, &db);
  if (!status.ok()) return ToStatus(status, absl::StrCat("database ", path, " cannot be opened"));
  database->db_.reset(db);
  return database;
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path, rocksdb::Env* env, bool create) {
  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(kCacheBytes);
  rocksdb::DBOptions options;
  if (env != nullptr) options.env = env;
  options.create_if_missing = create;
  options.create_missing_column_families = create;
  options.error_if_exists = create;
  options.max_open_files = kOpenFiles;
  options.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(kMemtableBytes);
  options.max_background_jobs = 2;
  // Large content is read in order: the system shall read ahead.
  options.advise_random_on_open = false;
  options.use_direct_io_for_flush_and_compaction = HasDirectIo(path);
  // log_check.h has looked before: nothing is left to tolerate.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.paranoid_checks = true;
  options.file_checksum_gen_factory = NewFileChecksumFactory();
  options.keep_log_file_num = 4;
  options.max_log_file_size = 4 << 20;

  const std::vector<rocksdb::ColumnFamilyDescriptor> families = Families(cache);

  std::unique_ptr<Database> database(new Database);
  database->memtables_ = options.write_buffer_manager;
  options.listeners.push_back(std::make_shared<SpaceListener>(database->waits_for_space_));
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, path, families, &database->families_, &db);
  if (!status.ok()) return ToStatus(status, absl::StrCat("database ", path, " cannot be opened"));
  database->db_.reset(db);
  database->ingested_options_ = rocksdb::Options(options, families.back().options);
  return database;
}

void Database::FlushSoon() {
  rocksdb::FlushOptions options;
  options.wait = false;
  options.allow_write_stall = true;
  // A failure shows in the writes that follow.
  db_->Flush(options, families_).PermitUncheckedError();
}

absl::Status Database::Flush() {
  rocksdb::FlushOptions options;
  options.allow_write_stall = true;
  return ToStatus(db_->Flush(options, families_), "flushing");
}

Database::~Database() {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family);
  db_->Close();
}

}  // namespace coffer::rocks
