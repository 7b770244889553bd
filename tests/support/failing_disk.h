// SPDX-License-Identifier: Apache-2.0
//
// A disk under RocksDB whose syncs of the log fail when told to.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <memory>

namespace coffer {

// Thread-safe. Outlives every engine that was opened with env().
class FailingDisk {
 public:
  FailingDisk();

  rocksdb::Env* env() { return env_.get(); }

  // After `passing` more syncs of a log all fail with `error`; what was written before is on the disk all the same. OK
  // ends that.
  void FailLogSyncs(const rocksdb::IOStatus& error, int passing = 0);

 private:
  class Files;

  std::shared_ptr<Files> files_;
  std::unique_ptr<rocksdb::Env> env_;
};

}  // namespace coffer
