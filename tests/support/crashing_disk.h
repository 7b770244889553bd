// SPDX-License-Identifier: Apache-2.0
//
// A disk under RocksDB that loses its power, or fails, at a chosen call, and keeps no more than a disk must:
//
//   1. Every file and directory entry made through env() is followed: which bytes a sync covered, and which creations,
//      renames, links and deletions a sync of the directory covered.
//   2. When the power goes, an image of the directory is kept, and every later call fails and changes nothing.
//   3. Restart() makes the directory what the disk may hold: of each file the synced bytes, and of the others any
//      part, which may end in the middle of a write and, unless it is a log, in zeros or garbage; of each directory the
//      synced entries, and the first few of the others.
//
// What a program does past RocksDB (its own directories, renames, removals) counts as durable at once.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tests/support/disk_image.h"

namespace coffer {

// Thread-safe, except for Restart. Outlives every engine that was opened with env().
class CrashingDisk {
 public:
  enum class Call { kCreate, kWrite, kSync, kRename, kLink, kDelete, kDirectorySync };
  static constexpr int kCalls = 7;

  // The first call that is meant, after `passing` others like it.
  struct Point {
    // Nothing: every kind.
    std::optional<Call> call = {};
    // Of the file's path; empty: every file.
    std::string suffix = {};
    uint64_t passing = 0;
  };

  // Follows what happens in `directory`. Beside it, directories with its name and ".kept" and ".image" come and go.
  explicit CrashingDisk(std::string directory);
  ~CrashingDisk();

  rocksdb::Env* env() { return env_.get(); }

  // The power goes at that call, which does not take place.
  void LosePowerAt(const Point& point);
  void LosePower();
  bool lost() const;

  // After the loss, with no engine open: the power comes back. `seed` selects what the disk holds.
  void Restart(uint64_t seed, const Leftovers& leftovers = {});

  // From that call on all like it fail with `error` and do nothing; OK ends that.
  void FailFrom(const Point& point, const rocksdb::IOStatus& error);

  // Calls of every kind so far.
  uint64_t calls() const;

 private:
  class Files;

  std::shared_ptr<Files> files_;
  std::unique_ptr<rocksdb::Env> env_;
};

}  // namespace coffer
