// SPDX-License-Identifier: Apache-2.0
#include "client/part_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"

namespace coffer::client {
namespace {

// Two random names of 64 bits do not meet by chance; more tries than this mean something else is wrong.
constexpr int kMaxNameTries = 8;

}  // namespace

absl::Status WriteAll(int fd, ByteSpan bytes, const std::string& what) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::ErrnoToStatus(errno, absl::StrCat("write ", what));
    bytes.remove_prefix(count);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PartFile>> PartFile::Create(int dir_fd, std::string name, std::string path) {
  std::unique_ptr<PartFile> file(new PartFile(dir_fd, std::move(name), std::move(path)));
  absl::BitGen random;
  for (int i = 0; i < kMaxNameTries; ++i) {
    const std::string part_name =
        absl::StrCat(".coffer-", absl::Hex(absl::Uniform<uint64_t>(random), absl::kZeroPad16), ".part");
    file->fd_ =
        UniqueFd(::openat(dir_fd, part_name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file->fd_.valid()) {
      file->part_name_ = part_name;
      return file;
    }
    if (errno != EEXIST) break;
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("create ", file->path_));
}

PartFile::~PartFile() {
  if (!part_name_.empty()) ::unlinkat(dir_fd_, part_name_.c_str(), 0);
}

absl::Status PartFile::SetMode(mode_t mode) {
  if (::fchmod(fd_.get(), mode) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("set the mode of ", path_));
  return absl::OkStatus();
}

absl::Status PartFile::Write(ByteSpan bytes) { return WriteAll(fd_.get(), bytes, path_); }

absl::Status PartFile::Commit() {
  if (::fsync(fd_.get()) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("sync ", path_));
  if (::renameat(dir_fd_, part_name_.c_str(), dir_fd_, name_.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("rename to ", path_));
  }
  part_name_.clear();
  fd_.Close();
  return absl::OkStatus();
}

}  // namespace coffer::client
