// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/storage/raw_controls.h"

#include <fcntl.h>
#include <rocksdb/table.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/bench/storage/bench_store.h"

namespace coffer::bench {
namespace {

constexpr size_t kValuesPerBatch = 64;
// As long as a digest.
constexpr size_t kKeyBytes = 32;
constexpr size_t kAlignmentBytes = 4096;

rocksdb::Options ControlOptions(bool blob_files) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.compression = rocksdb::kNoCompression;
  options.enable_blob_files = blob_files;
  options.min_blob_size = kKiB;
  rocksdb::BlockBasedTableOptions table;
  // The fastest one everywhere: some builds compute CRC32C in software.
  table.checksum = rocksdb::kXXH3;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

char* TouchedBuffer() {
  void* const buffer = std::aligned_alloc(kAlignmentBytes, kMiB);
  StampedBytes bytes(kMiB);
  std::memcpy(buffer, bytes.Blob(0, kMiB).data(), kMiB);
  return static_cast<char*>(buffer);
}

}  // namespace

RawRocksDb::RawRocksDb(StorageBench& bench, const std::string& name, bool blob_files, size_t families)
    : bench_(bench), path_(bench.PathOf(name)) {
  const rocksdb::Options options = ControlOptions(blob_files);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors = {{rocksdb::kDefaultColumnFamilyName, options}};
  while (descriptors.size() < families) descriptors.emplace_back(absl::StrCat(descriptors.size()), options);
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(options, path_, descriptors, &families_, &db));
  db_.reset(db);
}

RawRocksDb::~RawRocksDb() {
  for (rocksdb::ColumnFamilyHandle* family : families_) Check(db_->DestroyColumnFamilyHandle(family));
  db_.reset();
  std::filesystem::remove_all(path_);
}

void RawRocksDb::Put(size_t family, size_t key_bytes, absl::string_view value) {
  Check(batch_.Put(families_[family], ScatteredKey(bench_.FreshNumber(), key_bytes), {value.data(), value.size()}));
}

void RawRocksDb::Commit() {
  rocksdb::WriteOptions synced;
  synced.sync = true;
  Check(db_->Write(synced, &batch_));
  batch_.Clear();
}

double RawRocksDb::Rate(double seconds, StampedBytes& bytes, const std::function<size_t(uint64_t)>& size_of) {
  uint64_t written = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  const double taken = Seconds([&] {
    while (std::chrono::steady_clock::now() < end) {
      for (size_t i = 0; i < kValuesPerBatch; ++i, ++written) {
        const uint64_t number = bench_.FreshNumber();
        Put(0, kKeyBytes, bytes.Blob(number, size_of(written)));
      }
      Commit();
    }
  });
  return static_cast<double>(written) / taken;
}

RawFile::RawFile(StorageBench& bench) : bench_(bench), buffer_(TouchedBuffer()) {}

double RawFile::Write(uint64_t size_bytes) {
  const std::string path = bench_.PathOf(absl::StrCat("file-", bench_.FreshNumber()));
  const auto check = [&](bool is_done) {
    if (!is_done) Check(absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno))));
  };
  const double seconds = Seconds([&] {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0644);
    check(fd >= 0);
    for (uint64_t done = 0; done < size_bytes; done += kMiB) {
      check(write(fd, buffer_.get(), kMiB) == static_cast<ssize_t>(kMiB));
    }
    check(fsync(fd) == 0);
    close(fd);
    const int directory = open(bench_.options().directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check(directory >= 0 && fsync(directory) == 0);
    close(directory);
  });
  unlink(path.c_str());
  return seconds;
}

}  // namespace coffer::bench
