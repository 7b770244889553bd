// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/ballast.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace coffer::rocks {
namespace {

// Two flushes of all memtables.
constexpr uint64_t kMaxBallastBytes = uint64_t{256} << 20;

std::string BallastPath(const std::string& data_dir) { return absl::StrCat(data_dir, "/ballast"); }

}  // namespace

void AdjustBallast(const std::string& data_dir, const DiskSpace::Room& room) {
  const std::string path = BallastPath(data_dir);
  const uint64_t size_bytes = std::min(room.low_water_bytes / 4, kMaxBallastBytes);
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    if (room.free_bytes <= room.low_water_bytes / 2) ReleaseBallast(data_dir);
    return;
  }
  if (size_bytes == 0 || room.free_bytes < room.low_water_bytes + size_bytes) return;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return;
  const bool made = posix_fallocate(fd, 0, static_cast<off_t>(size_bytes)) == 0;
  close(fd);
  if (!made) ReleaseBallast(data_dir);
}

bool ReleaseBallast(const std::string& data_dir) {
  std::error_code error;
  return std::filesystem::remove(BallastPath(data_dir), error);
}

}  // namespace coffer::rocks
