// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace coffer::rocks {

// Room on the file system of the data directory. RocksDB aborts the process when its log meets a full disk, so
// puts are refused while there is still room for the log, for flushes and for deletes.
class DiskSpace {
 public:
  struct Room {
    uint64_t total_bytes = 0;
    uint64_t free_bytes = 0;
    // The larger of 5 % of the disk and 2 GiB, but at most 10 % of the disk.
    uint64_t low_water_bytes = 0;
  };

  // `unflushed_bytes` tells what is in memory and will be written by flushes, `flush` starts them; both are called from
  // any thread.
  DiskSpace(std::string directory, std::function<uint64_t()> unflushed_bytes, std::function<void()> flush)
      : directory_(std::move(directory)), unflushed_bytes_(std::move(unflushed_bytes)), flush_(std::move(flush)) {}

  // UNAVAILABLE if the file system does not answer.
  absl::StatusOr<Room> Measure() const;

  // RESOURCE_EXHAUSTED if writing `wanted_bytes`, and flushing what is in memory, would leave less than the
  // low-water mark; if the latter is what stands in the way, the flush is started, so that it will not for long.
  absl::Status Check(uint64_t wanted_bytes) const;

 private:
  const std::string directory_;
  const std::function<uint64_t()> unflushed_bytes_;
  const std::function<void()> flush_;
};

}  // namespace coffer::rocks
