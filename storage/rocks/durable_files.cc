// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/durable_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace coffer::rocks {
namespace {

absl::Status Failed(const std::string& path, absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(path, " cannot be ", what, ": ", std::strerror(errno)));
}

// Closed when it goes.
struct File {
  const int fd;
  ~File() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

absl::Status SyncDirectory(const std::string& path) {
  const File directory{open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (directory.fd < 0 || fsync(directory.fd) != 0) return Failed(path, "synced");
  return absl::OkStatus();
}

absl::Status ReplaceFile(const std::string& path, absl::string_view content) {
  const std::string unfinished = path + ".new";
  {
    const File file{open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    if (file.fd < 0) return Failed(unfinished, "made");
    for (size_t done = 0; done < content.size();) {
      const ssize_t wrote = write(file.fd, content.data() + done, content.size() - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) return Failed(unfinished, "written");
      done += static_cast<size_t>(wrote);
    }
    if (fsync(file.fd) != 0) return Failed(unfinished, "synced");
  }
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) return Failed(path, "replaced");
  return SyncDirectory(std::filesystem::path(path).parent_path().string());
}

absl::Status TruncateFile(const std::string& path, uint64_t size_bytes) {
  const File file{open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  if (file.fd < 0 || ftruncate(file.fd, static_cast<off_t>(size_bytes)) != 0) return Failed(path, "cut");
  if (fsync(file.fd) != 0) return Failed(path, "synced");
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  const File file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return Failed(path, "opened");
  std::string content;
  char buffer[4096];
  while (true) {
    const ssize_t got = read(file.fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(path, "read");
    if (got == 0) return content;
    content.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace coffer::rocks
