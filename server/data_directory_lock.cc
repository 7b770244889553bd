// SPDX-License-Identifier: Apache-2.0
#include "server/data_directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace coffer {
namespace {

absl::Status Refuse(const std::string& directory, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("data directory ", directory, " ", why));
}

// The process id that the owner of the lock wrote, or nothing readable: then it is about to write it.
std::string ReadOwner(int fd) {
  char text[32] = {};
  const ssize_t got = ::pread(fd, text, sizeof(text) - 1, 0);
  int64_t owner = 0;
  if (got <= 0 || !absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &owner)) return "another process";
  return absl::StrCat("process ", owner);
}

}  // namespace

absl::StatusOr<std::unique_ptr<DataDirectoryLock>> DataDirectoryLock::Take(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Refuse(directory, absl::StrCat("cannot be made: ", error.message()));
  const std::string path = absl::StrCat(directory, "/", kFileName);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (fd < 0) return Refuse(directory, absl::StrCat("cannot be written: ", std::strerror(errno)));
  std::unique_ptr<DataDirectoryLock> lock(new DataDirectoryLock(fd));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Refuse(directory, absl::StrCat("cannot be locked: ", std::strerror(errno)));
    return Refuse(directory, absl::StrCat("is in use by ", ReadOwner(fd)));
  }
  const std::string owner = absl::StrCat(::getpid(), "\n");
  if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size())) {
    return Refuse(directory, absl::StrCat("cannot be written: ", std::strerror(errno)));
  }
  return lock;
}

DataDirectoryLock::~DataDirectoryLock() { ::close(fd_); }

}  // namespace coffer
