// SPDX-License-Identifier: Apache-2.0
#include "client/cli/tree_writer.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace coffer::client::cli {
namespace {

// The directory `part` in `parent`, made if it is missing.
absl::StatusOr<UniqueFd> Enter(int parent, const std::string& part, const std::string& path) {
  const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd(::openat(parent, part.c_str(), flags));
  if (!fd.valid() && errno == ENOENT) {
    // EEXIST: another thread was faster.
    if (::mkdirat(parent, part.c_str(), 0777) != 0 && errno != EEXIST) {
      return absl::ErrnoToStatus(errno, absl::StrCat("make directory ", path));
    }
    fd = UniqueFd(::openat(parent, part.c_str(), flags));
  }
  if (fd.valid()) return fd;
  if (errno == ELOOP || errno == ENOTDIR) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is in the way: it is not a directory"));
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("open directory ", path));
}

}  // namespace

absl::Status CheckFileName(absl::string_view name) {
  const auto refuse = [&](absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat("the name \"", absl::Utf8SafeCEscape(name), "\" cannot be a file: ", why));
  };
  if (name.empty()) return refuse("it is empty");
  if (name.find('\0') != absl::string_view::npos) return refuse("it has a NUL");
  for (absl::string_view part : absl::StrSplit(name, '/')) {
    if (part.empty()) return refuse("it has an empty part beside a \"/\"");
    if (part == "." || part == "..") return refuse(absl::StrCat("it has a part \"", part, "\""));
    if (part.size() > NAME_MAX) {
      return refuse(absl::StrCat("it has a part of ", part.size(), " bytes, the limit is ", NAME_MAX));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<TreeWriter>> TreeWriter::Open(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("make directory ", directory));
  }
  UniqueFd root(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("open directory ", directory));
  return std::unique_ptr<TreeWriter>(new TreeWriter(std::move(root), directory));
}

absl::StatusOr<std::unique_ptr<TreeWriter::File>> TreeWriter::Create(const std::string& name) {
  if (absl::Status status = CheckFileName(name); !status.ok()) return status;
  std::vector<std::string> parts = absl::StrSplit(name, '/');
  auto file = std::make_unique<File>();
  std::string path = directory_;
  file->directory_ = UniqueFd(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 0));
  if (!file->directory_.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("open directory ", path));
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    absl::StrAppend(&path, "/", parts[i]);
    absl::StatusOr<UniqueFd> next = Enter(file->directory_.get(), parts[i], path);
    if (!next.ok()) return next.status();
    file->directory_ = *std::move(next);
  }
  absl::StatusOr<std::unique_ptr<PartFile>> part =
      PartFile::Create(file->directory_.get(), parts.back(), absl::StrCat(directory_, "/", name));
  if (!part.ok()) return part.status();
  file->file_ = *std::move(part);
  return file;
}

}  // namespace coffer::client::cli
