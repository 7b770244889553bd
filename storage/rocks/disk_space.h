// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
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

  // Space that an upload under way has declared and not written yet: nobody else is promised it. Moved, not copied;
  // what is left of it is given back when it goes. Used by one thread at a time.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept
        : space_(std::exchange(other.space_, nullptr)), left_bytes_(std::exchange(other.left_bytes_, 0)) {}
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation() { Use(left_bytes_); }

    // So much of it has been written.
    void Use(uint64_t size_bytes) {
      const uint64_t used_bytes = std::min(size_bytes, left_bytes_);
      left_bytes_ -= used_bytes;
      if (space_ != nullptr) space_->reserved_bytes_ -= used_bytes;
    }
    uint64_t left_bytes() const { return left_bytes_; }

   private:
    friend class DiskSpace;
    Reservation(const DiskSpace& space, uint64_t size_bytes) : space_(&space), left_bytes_(size_bytes) {}

    const DiskSpace* space_ = nullptr;
    uint64_t left_bytes_ = 0;
  };

  // Reserves what an upload declares. RESOURCE_EXHAUSTED, as Check.
  absl::StatusOr<Reservation> Reserve(uint64_t declared_bytes) const;

  // RESOURCE_EXHAUSTED if there is no room in the log for a batch of `batch_bytes`; before that the ballast is
  // released.
  absl::Status CheckLog(uint64_t batch_bytes) const;

  // UNAVAILABLE if the file system does not answer.
  absl::StatusOr<Room> Measure() const;

  // RESOURCE_EXHAUSTED if writing `wanted_bytes` and what is reserved, and flushing what is in memory, would leave less
  // than the low-water mark; if the latter is what stands in the way, the flush is started, so that it will not for
  // long.
  absl::Status Check(uint64_t wanted_bytes) const;

 private:
  const std::string directory_;
  mutable std::atomic<uint64_t> reserved_bytes_ = 0;
  const std::function<uint64_t()> unflushed_bytes_;
  const std::function<void()> flush_;
};

}  // namespace coffer::rocks
