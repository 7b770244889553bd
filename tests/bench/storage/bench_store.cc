// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/storage/bench_store.h"

#include <rocksdb/db.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "storage/rocks/database.h"
#include "storage/rocks/rocks_engine.h"
#include "storage/rocks/start_up.h"

namespace coffer::bench {
namespace {

constexpr absl::Duration kPollPeriod = absl::Milliseconds(20);
// Polls in a row without a change that count as quiet.
constexpr int kQuietPolls = 5;
// More than any compaction here takes.
constexpr absl::Duration kSettleTime = absl::Minutes(10);

// Polls until `is_quiet` was true kQuietPolls times in a row; false if that takes too long.
bool WaitFor(const std::function<bool()>& is_quiet, absl::Duration at_most) {
  const absl::Time end = absl::Now() + at_most;
  for (int quiet = 0; quiet < kQuietPolls;) {
    if (absl::Now() > end) return false;
    absl::SleepFor(kPollPeriod);
    quiet = is_quiet() ? quiet + 1 : 0;
  }
  return true;
}

// Over all column families.
uint64_t Property(rocksdb::DB& db, const std::string& name) {
  uint64_t value = 0;
  if (!db.GetAggregatedIntProperty(name, &value)) Check(absl::UnimplementedError(name));
  return value;
}

[[noreturn]] void Fail(const std::string& reason) {
  std::fprintf(stderr, "storage_bench: %s\n", reason.c_str());
  std::exit(1);
}

}  // namespace

void Check(const absl::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

void Check(const rocksdb::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

BenchStore::BenchStore(StorageBench& bench, const std::string& name) : bench_(bench), directory_(bench.PathOf(name)) {
  Open();
}

BenchStore::~BenchStore() {
  Close();
  std::filesystem::remove_all(directory_);
}

void BenchStore::Open() {
  absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({directory_});
  Check(engine.status());
  engine_ = engine->get();
  store_ = std::make_unique<BlobStore>(*std::move(engine), BlobStore::Options{.hash_workers = &bench_.hash_workers()});
}

Digest BenchStore::Put(absl::string_view content) {
  absl::StatusOr<std::unique_ptr<Upload>> upload = store_->BeginUpload({});
  Check(upload.status());
  Check((*upload)->Append(content));
  absl::StatusOr<PutResult> put = (*upload)->Commit();
  Check(put.status());
  return put->digest;
}

std::unique_ptr<Upload> BenchStore::AppendLarge(StampedBytes& bytes, uint64_t size_bytes) {
  // As whoever puts a file or bytes that it has does.
  UploadOptions options;
  options.declared_size_bytes = size_bytes;
  absl::StatusOr<std::unique_ptr<Upload>> upload = store_->BeginUpload(options);
  Check(upload.status());
  const uint64_t number = bench_.FreshNumber();
  for (uint64_t sent = 0; sent < size_bytes; sent += kMiB) {
    Check((*upload)->Append(bytes.Piece(number, sent / kMiB, std::min(kMiB, size_bytes - sent))));
  }
  return *std::move(upload);
}

Digest BenchStore::PutLarge(StampedBytes& bytes, uint64_t size_bytes) {
  absl::StatusOr<PutResult> put = AppendLarge(bytes, size_bytes)->Commit();
  Check(put.status());
  return put->digest;
}

void BenchStore::PutBatch(std::vector<StampedBytes>& bytes, size_t size_bytes, size_t count) {
  std::vector<BatchItem> items(count);
  for (size_t i = 0; i < count; ++i) items[i].content = bytes[i].Blob(bench_.FreshNumber(), size_bytes);
  for (const absl::StatusOr<PutResult>& put : store_->PutBatch(items)) Check(put.status());
}

void Callers::Run(const std::function<bool()>& go_on, const Call& call) {
  std::vector<std::thread> threads;
  for (size_t caller = 0; caller < buffers_.size(); ++caller) {
    threads.emplace_back([&, caller] {
      while (go_on()) call(static_cast<int>(caller), buffers_[caller]);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

double Callers::Rate(double seconds, const Call& call) {
  std::atomic<uint64_t> calls = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const double taken = Seconds([&] {
    Run([&] { return std::chrono::steady_clock::now() < end; },
        [&](int caller, StampedBytes& bytes) {
          call(caller, bytes);
          ++calls;
        });
  });
  return static_cast<double>(calls) / taken;
}

uint64_t BytesWritten() {
  std::ifstream io("/proc/self/io");
  std::string label;
  for (uint64_t value = 0; io >> label >> value;) {
    if (label == "write_bytes:") return value;
  }
  Fail("/proc/self/io does not tell what was written");
}

void WaitUntilQuiet(absl::Duration at_most) {
  uint64_t before = BytesWritten();
  WaitFor([&] { return std::exchange(before, BytesWritten()) == before; }, at_most);
}

void SettleDatabase(const std::string& data_dir) {
  absl::StatusOr<std::unique_ptr<rocks::Database>> database =
      rocks::Database::Open(rocks::DatabaseDir(data_dir), nullptr);
  Check(database.status());
  rocksdb::DB& db = (*database)->db();
  (*database)->FlushSoon();
  const auto is_idle = [&] {
    for (const std::string& property :
         {rocksdb::DB::Properties::kMemTableFlushPending, rocksdb::DB::Properties::kNumRunningFlushes,
          rocksdb::DB::Properties::kCompactionPending, rocksdb::DB::Properties::kNumRunningCompactions}) {
      if (Property(db, property) != 0) return false;
    }
    return true;
  };
  if (!WaitFor(is_idle, kSettleTime)) Fail("compaction does not end");
}

std::vector<FamilyRows> CountRowsOfFamilies(const std::string& data_dir) {
  const std::string path = rocks::DatabaseDir(data_dir);
  std::vector<std::string> names;
  Check(rocksdb::DB::ListColumnFamilies({}, path, &names));
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  Check(rocksdb::DB::OpenForReadOnly({}, path, families, &handles, &opened));
  const std::unique_ptr<rocksdb::DB> db(opened);
  std::vector<FamilyRows> counted;
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    FamilyRows& family = counted.emplace_back();
    const std::unique_ptr<rocksdb::Iterator> row(db->NewIterator({}, handle));
    for (row->SeekToFirst(); row->Valid(); row->Next()) {
      ++family.rows;
      family.key_bytes += row->key().size();
      family.value_bytes += row->value().size();
    }
    Check(row->status());
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles) Check(db->DestroyColumnFamilyHandle(handle));
  return counted;
}

uint64_t DiskBytes(const std::string& directory) {
  constexpr uint64_t kStatBlockBytes = 512;
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    struct stat status;
    if (stat(entry.path().c_str(), &status) == 0) bytes += static_cast<uint64_t>(status.st_blocks) * kStatBlockBytes;
  }
  return bytes;
}

}  // namespace coffer::bench
