// SPDX-License-Identifier: Apache-2.0
#include "client/cli/walk.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace coffer::client::cli {
namespace {

absl::string_view BaseName(absl::string_view path) {
  while (path.size() > 1 && absl::EndsWith(path, "/")) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos || path.size() == 1 ? path : path.substr(slash + 1);
}

std::string Join(absl::string_view directory, absl::string_view entry) {
  if (directory.empty()) return std::string(entry);
  return absl::StrCat(directory, absl::EndsWith(directory, "/") ? "" : "/", entry);
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

class Walker {
 public:
  explicit Walker(const WalkVisitor& visitor) : visitor_(visitor) {}

  // False ends the walk. `name` is the directory's own name: empty at the top.
  bool Directory(const std::string& path, const std::string& name) {
    std::vector<std::string> entries;
    if (absl::Status status = ReadEntries(path, &entries); !status.ok()) {
      visitor_.failed(path, status);
      return true;
    }
    for (const std::string& entry : entries) {
      if (!Entry(Join(path, entry), Join(name, entry))) return false;
    }
    return true;
  }

 private:
  bool Entry(const std::string& path, const std::string& name) {
    struct stat info;
    if (::lstat(path.c_str(), &info) != 0) {
      visitor_.failed(path, absl::ErrnoToStatus(errno, "stat"));
      return true;
    }
    if (S_ISDIR(info.st_mode)) return Directory(path, name);
    if (S_ISREG(info.st_mode)) {
      return visitor_.file({path, name, true, static_cast<uint64_t>(info.st_size)});
    }
    visitor_.skipped(path);
    return true;
  }

  static absl::Status ReadEntries(const std::string& path, std::vector<std::string>* entries) {
    const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
    if (directory == nullptr) return absl::ErrnoToStatus(errno, "open directory");
    errno = 0;
    while (const dirent* entry = ::readdir(directory.get())) {
      const absl::string_view name = entry->d_name;
      if (name != "." && name != "..") entries->emplace_back(name);
      errno = 0;
    }
    if (errno != 0) return absl::ErrnoToStatus(errno, "read directory");
    std::sort(entries->begin(), entries->end());
    return absl::OkStatus();
  }

  const WalkVisitor& visitor_;
};

}  // namespace

void Walk(const std::vector<std::string>& paths, bool recursive, const WalkVisitor& visitor) {
  for (const std::string& path : paths) {
    if (path == "-") {
      if (!visitor.file({path, "", false, 0})) return;
      continue;
    }
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) {
      visitor.failed(path, absl::ErrnoToStatus(errno, "open"));
      continue;
    }
    if (!S_ISDIR(info.st_mode)) {
      const uint64_t size_bytes = S_ISREG(info.st_mode) ? info.st_size : 0;
      if (!visitor.file({path, std::string(BaseName(path)), false, size_bytes})) return;
    } else if (!recursive) {
      visitor.failed(path, absl::InvalidArgumentError("is a directory; -r puts the files in it"));
    } else if (!Walker(visitor).Directory(path, "")) {
      return;
    }
  }
}

}  // namespace coffer::client::cli
