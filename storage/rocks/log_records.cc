// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/log_records.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/rocks/crc32c.h"
#include "storage/rocks/log_trailer.h"

namespace coffer::rocks {
namespace {

// Types 5 to 8 are 1 to 4 in a file that was used before; 4 bytes more say for which log.
constexpr uint8_t kFirstRecyclableType = 5;
constexpr uint8_t kLastRecyclableType = 8;
constexpr uint64_t kLogNumberBytes = 4;

absl::Status Unreadable(const std::string& path) {
  return absl::UnavailableError(absl::StrCat("log ", path, " cannot be read: ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<LogFile> LogFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) {
    absl::Status status = Unreadable(path);
    if (fd >= 0) close(fd);
    return status;
  }
  return LogFile(path, fd, static_cast<uint64_t>(info.st_size));
}

LogFile::LogFile(LogFile&& other) noexcept
    : path_(other.path_), fd_(std::exchange(other.fd_, -1)), size_bytes_(other.size_bytes_) {}

LogFile::~LogFile() {
  if (fd_ >= 0) close(fd_);
}

absl::Status LogFile::Load(uint64_t block) {
  if (block == block_) return absl::OkStatus();
  const uint64_t begin = block * kBlockBytes;
  bytes_.resize(std::min(kBlockBytes, size_bytes_ - begin));
  for (size_t done = 0; done < bytes_.size();) {
    const ssize_t got = pread(fd_, &bytes_[done], bytes_.size() - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Unreadable(path_);
    done += static_cast<size_t>(got);
  }
  block_ = block;
  return absl::OkStatus();
}

std::optional<LogFragment> LogFile::Parse(uint64_t offset_bytes) const {
  const absl::string_view rest = absl::string_view(bytes_).substr(offset_bytes % kBlockBytes);
  if (rest.size() < kHeaderBytes) return std::nullopt;
  const auto type = static_cast<uint8_t>(rest[6]);
  if (type == 0 || type > kLastRecyclableType) return std::nullopt;
  const bool is_recyclable = type >= kFirstRecyclableType;
  const uint64_t header_bytes = kHeaderBytes + (is_recyclable ? kLogNumberBytes : 0);
  const uint64_t length = static_cast<uint8_t>(rest[4]) | uint64_t{static_cast<uint8_t>(rest[5])} << 8;
  if (header_bytes + length > rest.size()) return std::nullopt;
  // The checksum covers everything behind the length.
  if (MaskCrc32c(Crc32c(rest.substr(6, header_bytes + length - 6))) != LittleEndian32(rest.data())) {
    return std::nullopt;
  }
  LogFragment fragment;
  fragment.part = static_cast<LogFragment::Part>(is_recyclable ? type - kFirstRecyclableType + 1 : type);
  fragment.begin_bytes = offset_bytes;
  fragment.end_bytes = offset_bytes + header_bytes + length;
  fragment.payload = rest.substr(header_bytes, length);
  return fragment;
}

absl::StatusOr<std::optional<LogFragment>> LogFile::At(uint64_t offset_bytes) {
  if (offset_bytes >= size_bytes_) return std::optional<LogFragment>();
  if (absl::Status status = Load(offset_bytes / kBlockBytes); !status.ok()) return status;
  return Parse(offset_bytes);
}

absl::StatusOr<std::optional<LogFragment>> LogFile::Next(uint64_t offset_bytes) {
  for (uint64_t at = offset_bytes; at < size_bytes_; ++at) {
    if (absl::Status status = Load(at / kBlockBytes); !status.ok()) return status;
    if (std::optional<LogFragment> fragment = Parse(at); fragment.has_value()) return fragment;
  }
  return std::optional<LogFragment>();
}

uint64_t LogFile::NextPlace(uint64_t end_bytes) {
  const uint64_t left = kBlockBytes - end_bytes % kBlockBytes;
  return left < kHeaderBytes ? end_bytes + left : end_bytes;
}

absl::StatusOr<bool> LogFile::IsEnd(uint64_t begin_bytes) {
  if (begin_bytes >= size_bytes_) return true;
  if (NextPlace(begin_bytes) == begin_bytes || NextPlace(begin_bytes) < size_bytes_) return false;
  if (absl::Status status = Load(begin_bytes / kBlockBytes); !status.ok()) return status;
  const absl::string_view rest = absl::string_view(bytes_).substr(begin_bytes % kBlockBytes);
  return std::all_of(rest.begin(), rest.end(), [](char byte) { return byte == 0; });
}

uint64_t BeginOfBatch(uint64_t end_bytes, uint64_t batch_bytes) {
  while (end_bytes > 0) {
    const uint64_t block_begin = (end_bytes - 1) / LogFile::kBlockBytes * LogFile::kBlockBytes;
    const uint64_t in_block = end_bytes - block_begin;
    if (in_block < LogFile::kHeaderBytes) return 0;
    const uint64_t payload = in_block - LogFile::kHeaderBytes;
    if (batch_bytes <= payload) return end_bytes - batch_bytes - LogFile::kHeaderBytes;
    batch_bytes -= payload;
    end_bytes = block_begin;
  }
  return 0;
}

}  // namespace coffer::rocks
