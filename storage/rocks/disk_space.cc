// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/disk_space.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace coffer::rocks {

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

absl::Status DiskSpace::Check(uint64_t wanted_bytes) const {
  const absl::StatusOr<Room> room = Measure();
  if (!room.ok()) return room.status();
  const uint64_t unflushed_bytes = unflushed_bytes_();
  const uint64_t needed_bytes = room->low_water_bytes + wanted_bytes;
  if (room->free_bytes >= needed_bytes + unflushed_bytes) return absl::OkStatus();
  if (room->free_bytes >= needed_bytes) flush_();
  return absl::ResourceExhaustedError(absl::StrCat("no space: the disk has ", room->free_bytes, " bytes free, ",
                                                   unflushed_bytes, " of them needed for what is in memory and ",
                                                   wanted_bytes, " for this put; puts stop at ", room->low_water_bytes,
                                                   ": free some space, deletes still work"));
}

}  // namespace coffer::rocks
