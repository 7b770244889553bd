// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/disk_space.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "storage/rocks/ballast.h"

namespace coffer::rocks {

namespace {

// RocksDB ends the process if its log does not fit; a flush that starts meanwhile may take some space as well.
constexpr uint64_t kLogReserveBytes = uint64_t{2} << 20;

}  // namespace

absl::StatusOr<DiskSpace::Room> DiskSpace::Measure() const {
  struct statvfs fs;
  if (statvfs(directory_.c_str(), &fs) != 0) {
    return absl::UnavailableError(absl::StrCat("free space of ", directory_, " is unknown: ", std::strerror(errno)));
  }
  constexpr uint64_t kFloorBytes = uint64_t{2} << 30;
  Room room;
  room.total_bytes = uint64_t{fs.f_blocks} * fs.f_frsize;
  room.free_bytes = uint64_t{fs.f_bavail} * fs.f_frsize;
  room.low_water_bytes = std::min(std::max(room.total_bytes / 20, kFloorBytes), room.total_bytes / 10);
  return room;
}

absl::StatusOr<DiskSpace::Reservation> DiskSpace::Reserve(uint64_t declared_bytes) const {
  // First taken, then looked at: of two that do not fit together one sees the other.
  reserved_bytes_ += declared_bytes;
  Reservation reservation(*this, declared_bytes);
  if (absl::Status status = Check(0); !status.ok()) return status;
  return reservation;
}

absl::Status DiskSpace::CheckLog(uint64_t batch_bytes) const {
  for (bool again = true; again; again = ReleaseBallast(directory_)) {
    const absl::StatusOr<Room> room = Measure();
    if (!room.ok() || room->free_bytes >= batch_bytes + kLogReserveBytes) return room.status();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "no space: the disk is full, and there is no room to note a change of ", batch_bytes, " bytes: free some space"));
}

absl::Status DiskSpace::Check(uint64_t wanted_bytes) const {
  const absl::StatusOr<Room> room = Measure();
  if (!room.ok()) return room.status();
  const uint64_t unflushed_bytes = unflushed_bytes_();
  const uint64_t reserved_bytes = reserved_bytes_;
  const uint64_t needed_bytes = room->low_water_bytes + wanted_bytes + reserved_bytes;
  if (room->free_bytes >= needed_bytes + unflushed_bytes) return absl::OkStatus();
  if (room->free_bytes >= needed_bytes) flush_();
  return absl::ResourceExhaustedError(absl::StrCat(
      "no space: the disk has ", room->free_bytes, " bytes free, ", unflushed_bytes,
      " of them needed for what is in memory, ", reserved_bytes, " for uploads under way and ", wanted_bytes,
      " for this put; puts stop at ", room->low_water_bytes, ": free some space, deletes still work"));
}

}  // namespace coffer::rocks
