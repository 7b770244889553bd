// SPDX-License-Identifier: Apache-2.0
#include "client/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace coffer::client {

absl::StatusOr<size_t> BufferSource::Read(absl::Span<uint8_t> out) {
  const size_t count = std::min(out.size(), bytes_.size() - position_);
  if (count > 0) std::memcpy(out.data(), bytes_.data() + position_, count);
  position_ += count;
  return count;
}

absl::Status BufferSource::Rewind() {
  position_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FileSource>> FileSource::Open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  return FromFd(std::move(fd), path);
}

absl::StatusOr<std::unique_ptr<FileSource>> FileSource::OpenRegular(const std::string& path) {
  // O_NONBLOCK: a FIFO that took the file's place must not make open() wait for a writer.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("stat ", path));
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is not a regular file any more"));
  }
  return FromFd(std::move(fd), path);
}

absl::StatusOr<std::unique_ptr<FileSource>> FileSource::FromFd(UniqueFd fd, std::string path) {
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("stat ", path));
  if (S_ISDIR(info.st_mode)) return absl::FailedPreconditionError(absl::StrCat(path, " is a directory"));
  // A descriptor that was handed over, such as standard input, may stand in the middle of its file.
  const off_t start = S_ISREG(info.st_mode) ? ::lseek(fd.get(), 0, SEEK_CUR) : -1;
  std::optional<uint64_t> size_bytes;
  if (start == 0 && info.st_size > 0) size_bytes = info.st_size;
  return std::unique_ptr<FileSource>(new FileSource(std::move(fd), std::move(path), size_bytes, start == 0));
}

absl::StatusOr<size_t> FileSource::Read(absl::Span<uint8_t> out) {
  size_t wanted = out.size();
  if (size_bytes_.has_value()) wanted = std::min<uint64_t>(wanted, *size_bytes_ - position_);
  if (wanted == 0) return 0;
  ssize_t count;
  do {
    count = ::read(fd_.get(), out.data(), wanted);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("read ", path_, " at offset ", position_));
  }
  if (count == 0 && size_bytes_.has_value()) return BecameShorter(position_);
  position_ += count;
  return static_cast<size_t>(count);
}

absl::Status FileSource::BecameShorter(uint64_t at) const {
  return absl::FailedPreconditionError(
      absl::StrCat(path_, " became shorter while it was read: ", at, " of ", *size_bytes_, " bytes"));
}

absl::Status FileSource::ReadAt(uint64_t offset, absl::Span<uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t count = ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::ErrnoToStatus(errno, absl::StrCat("read ", path_, " at offset ", offset));
    if (count == 0) return BecameShorter(offset);
    offset += count;
    out.remove_prefix(count);
  }
  return absl::OkStatus();
}

absl::Status FileSource::Rewind() {
  if (!seekable_) return absl::FailedPreconditionError(absl::StrCat(path_, " can be read only once"));
  if (::lseek(fd_.get(), 0, SEEK_SET) < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("rewind ", path_));
  }
  position_ = 0;
  return absl::OkStatus();
}

}  // namespace coffer::client
