// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/backup_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hashing/bytes.h"
#include "hashing/hasher.h"
#include "storage/rocks/crc32c.h"
#include "storage/rocks/durable_files.h"

namespace coffer::rocks {
namespace {

constexpr absl::string_view kListName = "/backup.files";
constexpr size_t kCopyBytes = size_t{1} << 20;

std::string DigestLine(absl::string_view text) {
  Hasher hasher;
  hasher.Update(BytesOf(text));
  return hasher.Finalize().ToHex();
}

// Closed when it goes.
struct File {
  const int fd;
  ~File() {
    if (fd >= 0) close(fd);
  }
};

absl::Status Failed(const std::string& path, absl::string_view what) {
  const std::string message = absl::StrCat(path, " cannot be ", what, ": ", std::strerror(errno));
  return errno == ENOSPC || errno == EDQUOT ? absl::ResourceExhaustedError(message) : absl::UnavailableError(message);
}

}  // namespace

absl::Status WriteBackupFiles(const std::string& backup, const BackupFiles& files) {
  std::string text;
  for (const auto& [name, file] : files) {
    absl::StrAppend(&text, name, " ", file.size_bytes, " ", absl::Hex(file.crc32c, absl::kZeroPad8), "\n");
  }
  return ReplaceFile(absl::StrCat(backup, kListName), absl::StrCat(text, DigestLine(text), "\n"));
}

absl::StatusOr<BackupFiles> ReadBackupFiles(const std::string& backup) {
  const std::string path = absl::StrCat(backup, kListName);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return absl::NotFoundError(absl::StrCat(backup, " is no backup: it has no ", kListName.substr(1)));
  }
  absl::StatusOr<std::string> content = ReadWholeFile(path);
  if (!content.ok()) return content.status();
  const absl::Status damaged = absl::DataLossError(absl::StrCat("the list of files ", path, " is damaged"));
  std::vector<absl::string_view> lines = absl::StrSplit(*content, '\n', absl::SkipEmpty());
  if (lines.empty()) return damaged;
  const absl::string_view digest = lines.back();
  const absl::string_view text = absl::string_view(*content).substr(0, digest.data() - content->data());
  if (digest != DigestLine(text)) return damaged;
  lines.pop_back();
  BackupFiles files;
  for (const absl::string_view line : lines) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    BackupFile file;
    if (words.size() != 3 || !absl::SimpleAtoi(words[1], &file.size_bytes) ||
        !absl::SimpleHexAtoi(words[2], &file.crc32c) || absl::StrContains(words[0], '/')) {
      return damaged;
    }
    files.emplace(words[0], file);
  }
  return files;
}

absl::StatusOr<BackupFile> CopyFile(const std::string& from, const std::string& to) {
  const File source{open(from.c_str(), O_RDONLY | O_CLOEXEC)};
  if (source.fd < 0) return Failed(from, "opened");
  const File target{open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)};
  if (target.fd < 0) return Failed(to, "made");
  const std::unique_ptr<char[]> buffer(new char[kCopyBytes]);
  BackupFile copied;
  while (true) {
    const ssize_t got = read(source.fd, buffer.get(), kCopyBytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(from, "read");
    if (got == 0) break;
    copied.crc32c = ExtendCrc32c(copied.crc32c, {buffer.get(), static_cast<size_t>(got)});
    for (ssize_t done = 0; done < got;) {
      const ssize_t wrote = write(target.fd, buffer.get() + done, static_cast<size_t>(got - done));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return Failed(to, "written");
      done += wrote;
    }
    copied.size_bytes += static_cast<uint64_t>(got);
  }
  if (fsync(target.fd) != 0) return Failed(to, "synced");
  // Nobody reads either soon; what is cached for the store shall stay.
  (void)posix_fadvise(target.fd, 0, 0, POSIX_FADV_DONTNEED);
  return copied;
}

}  // namespace coffer::rocks
