// SPDX-License-Identifier: Apache-2.0
//
// What the store is compared with: RocksDB itself, and a file.
#pragma once

#include <rocksdb/db.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/bench/storage/stamped_bytes.h"
#include "tests/bench/storage/storage_bench.h"

namespace coffer::bench {

// A database in a directory of its own, which goes with it: rows under keys in no order, each batch synced. Used by one
// thread at a time.
class RawRocksDb {
 public:
  // `blob_files`: values from 1 KiB up go to blob files.
  RawRocksDb(StorageBench& bench, const std::string& name, bool blob_files, size_t families = 1);
  ~RawRocksDb();

  // Adds a row to the batch.
  void Put(size_t family, size_t key_bytes, absl::string_view value);
  // Writes the batch and syncs.
  void Commit();

  // Values a second during `seconds`, in batches of 64. `size_of`: the size of the value of a number.
  double Rate(double seconds, StampedBytes& bytes, const std::function<size_t(uint64_t)>& size_of);

 private:
  StorageBench& bench_;
  const std::string path_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  rocksdb::WriteBatch batch_;
};

// Files that are written past the page cache.
class RawFile {
 public:
  explicit RawFile(StorageBench& bench);

  // Seconds for a new file of `size_bytes`, a multiple of 1 MiB: created, written by 1 MiB, synced with its directory.
  // Removing it again is not counted.
  double Write(uint64_t size_bytes);

 private:
  struct Free {
    void operator()(char* buffer) const { std::free(buffer); }
  };

  StorageBench& bench_;
  // 1 MiB, aligned and touched.
  const std::unique_ptr<char, Free> buffer_;
};

}  // namespace coffer::bench
