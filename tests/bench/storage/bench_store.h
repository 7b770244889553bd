// SPDX-License-Identifier: Apache-2.0
//
// A store of the bench, the threads that call it, and what can be seen of it from outside.
#pragma once

#include <rocksdb/status.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "storage/blob_store.h"
#include "tests/bench/storage/stamped_bytes.h"
#include "tests/bench/storage/storage_bench.h"

namespace coffer::bench {

// End the program with the reason.
void Check(const absl::Status& status);
void Check(const rocksdb::Status& status);

// A store in a directory of its own, which goes with it. Thread-safe but for Close and Open.
class BenchStore {
 public:
  BenchStore(StorageBench& bench, const std::string& name);
  ~BenchStore();

  BlobStore& store() { return *store_; }
  // Below the store: what it reads without verifying.
  Engine& engine() { return *engine_; }
  const std::string& directory() const { return directory_; }

  void Close() { store_.reset(); }
  void Open();

  Digest Put(absl::string_view content);
  // A new blob, appended by 1 MiB, which is what `bytes` must hold.
  Digest PutLarge(StampedBytes& bytes, uint64_t size_bytes);
  // The same, not committed yet.
  std::unique_ptr<Upload> AppendLarge(StampedBytes& bytes, uint64_t size_bytes);
  // `count` new blobs of `size_bytes` in one call of PutBatch. `bytes`: as many buffers.
  void PutBatch(std::vector<StampedBytes>& bytes, size_t size_bytes, size_t count);

 private:
  StorageBench& bench_;
  const std::string directory_;
  std::unique_ptr<BlobStore> store_;
  // Owned by store_.
  Engine* engine_ = nullptr;
};

// Threads that call at the same time, each with a buffer that is made once.
class Callers {
 public:
  Callers(int count, size_t capacity_bytes) : buffers_(count, StampedBytes(capacity_bytes)) {}

  using Call = std::function<void(int caller, StampedBytes& bytes)>;

  // Has each of them make `call` over and over while `go_on()` is true, asked before each call.
  void Run(const std::function<bool()>& go_on, const Call& call);

  // Calls a second, all together, during `seconds`.
  double Rate(double seconds, const Call& call);

 private:
  std::vector<StampedBytes> buffers_;
};

// Bytes that this process has caused to be written to disk: those of the page cache when they get dirty, those past it
// when they are written.
uint64_t BytesWritten();

// Waits until nothing was written for a tenth of a second, so that one side's flushes do not fall into the other's
// turn; `at_most` so long.
void WaitUntilQuiet(absl::Duration at_most = absl::Seconds(20));

// Opens the database of a closed store, writes its memtables to files, waits until no compaction is left to do and
// closes it again.
void SettleDatabase(const std::string& data_dir);

// The rows of a column family.
struct FamilyRows {
  uint64_t rows = 0;
  uint64_t key_bytes = 0;
  uint64_t value_bytes = 0;
};
// Counts the rows in each column family of a closed store.
std::vector<FamilyRows> CountRowsOfFamilies(const std::string& data_dir);

// Allocated on disk for everything below `directory`.
uint64_t DiskBytes(const std::string& directory);

}  // namespace coffer::bench
