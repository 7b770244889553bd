// SPDX-License-Identifier: Apache-2.0
#include "tests/support/disk_image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace coffer {
namespace {

namespace fs = std::filesystem;

// A test disk that cannot do what it must would prove nothing.
void Must(bool done, const char* what, const std::string& path) {
  if (done) return;
  std::perror((std::string(what) + " " + path).c_str());
  std::abort();
}

struct stat StatOf(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) status.st_ino = 0;
  return status;
}

std::string ParentOf(const std::string& path) { return fs::path(path).parent_path().string(); }
std::string NameOf(const std::string& path) { return fs::path(path).filename().string(); }

bool IsLog(const std::string& name) { return name.ends_with(".log"); }
bool IsManifest(const std::string& name) { return name.starts_with("MANIFEST-"); }

uint64_t UpTo(std::mt19937_64& random, uint64_t limit) {
  return std::uniform_int_distribution<uint64_t>(0, limit)(random);
}

}  // namespace

FileState::~FileState() { ::unlink(kept_path.c_str()); }

void FileState::CutAt(uint64_t new_size_bytes) {
  size_bytes = new_size_bytes;
  synced_bytes = std::min(synced_bytes, new_size_bytes);
}

DiskImage::DiskImage(std::string root) : root_(std::move(root)), kept_(root_ + ".kept"), image_(root_ + ".image") {
  fs::remove_all(kept_);
  fs::remove_all(image_);
  fs::create_directories(kept_);
}

DiskImage::~DiskImage() {
  directories_.clear();
  std::error_code ignored;
  fs::remove_all(kept_, ignored);
  fs::remove_all(image_, ignored);
}

DirectoryId DiskImage::DirectoryAt(const std::string& path) { return StatOf(path).st_ino; }

std::shared_ptr<FileState> DiskImage::Follow(const std::string& path, bool is_new) {
  auto file = std::make_shared<FileState>();
  const struct stat status = StatOf(path);
  file->inode = status.st_ino;
  file->kept_path = kept_ + "/" + std::to_string(next_kept_++);
  Must(::link(path.c_str(), file->kept_path.c_str()) == 0, "keeping", path);
  file->size_bytes = file->synced_bytes = is_new ? 0 : status.st_size;
  return file;
}

std::shared_ptr<FileState> DiskImage::FileAt(const std::string& path) {
  const ino_t inode = StatOf(path).st_ino;
  Names& now = directories_[DirectoryAt(ParentOf(path))].now;
  const auto found = now.find(NameOf(path));
  if (found != now.end() && found->second->inode == inode) return found->second;
  if (found != now.end()) now.erase(found);
  if (inode == 0) return nullptr;
  return now[NameOf(path)] = Follow(path, false);
}

void DiskImage::BeforeCreate(const std::string& path) {
  // Names that the program removed by itself are gone for good.
  const std::string parent = ParentOf(path);
  std::erase_if(directories_[DirectoryAt(parent)].now,
                [&](const auto& entry) { return StatOf(parent + "/" + entry.first).st_ino != entry.second->inode; });
  if (FileAt(path) != nullptr) Must(::unlink(path.c_str()) == 0, "replacing", path);
}

std::shared_ptr<FileState> DiskImage::Created(const std::string& path) {
  std::shared_ptr<FileState> file = Follow(path, true);
  Change(ParentOf(path), {{NameOf(path), file}});
  return file;
}

void DiskImage::Renamed(const std::string& from, const std::string& to, const std::shared_ptr<FileState>& file) {
  Names names;
  if (!from.empty()) names[NameOf(from)] = nullptr;
  if (!to.empty() && (from.empty() || ParentOf(to) == ParentOf(from))) {
    names[NameOf(to)] = file;
  } else if (!to.empty()) {
    Change(ParentOf(to), {{NameOf(to), file}});
  }
  Change(ParentOf(from.empty() ? to : from), names);
}

void DiskImage::Change(const std::string& directory, const Names& names) {
  Directory& in = directories_[DirectoryAt(directory)];
  for (const auto& [name, file] : names) {
    const auto before = in.now.find(name);
    in.durable.try_emplace(name, before == in.now.end() ? nullptr : before->second);
    if (file == nullptr) {
      in.now.erase(name);
    } else {
      in.now[name] = file;
    }
  }
  in.changes.push_back(names);
}

void DiskImage::SyncDirectory(DirectoryId directory) {
  directories_[directory].durable.clear();
  directories_[directory].changes.clear();
}

void DiskImage::Take() {
  taken_.clear();
  fs::remove_all(image_);
  fs::create_directories(image_);
  taken_["."] = DirectoryAt(root_);
  if (!fs::exists(root_)) return;
  // The program may still be removing files of its own.
  std::error_code gone;
  for (fs::recursive_directory_iterator at(root_, gone), end; !gone && at != end; at.increment(gone)) {
    const std::string path = at->path().string();
    const std::string relative = path.substr(root_.size() + 1);
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      fs::create_directories(image_ + "/" + relative);
      taken_[relative] = DirectoryAt(path);
    } else {
      fs::create_hard_link(path, image_ + "/" + relative, ignored);
    }
  }
}

void DiskImage::SettleNames(const std::string& directory_path, Directory& directory, bool any_order,
                            std::mt19937_64& random) {
  const size_t kept = UpTo(random, directory.changes.size());
  Names settled = directory.durable;
  for (size_t i = 0; i < directory.changes.size(); ++i) {
    if (any_order ? UpTo(random, 1) == 0 : i >= kept) continue;
    for (const auto& [name, file] : directory.changes[i]) settled[name] = file;
  }
  for (const auto& [name, file] : settled) {
    const std::string path = directory_path + "/" + name;
    ::unlink(path.c_str());
    if (file != nullptr) Must(::link(file->kept_path.c_str(), path.c_str()) == 0, "restoring", path);
  }
}

void DiskImage::SettleTail(FileState& file, bool scrambles, std::mt19937_64& random) {
  const uint64_t end = StatOf(file.kept_path).st_size;
  if (end <= file.synced_bytes) return;
  enum { kNothing, kAll, kPart, kZeros, kRandom };
  const uint64_t fate = UpTo(random, scrambles ? kRandom : kPart);
  if (fate == kAll) return;
  const uint64_t cut = fate == kNothing ? file.synced_bytes : file.synced_bytes + UpTo(random, end - file.synced_bytes);
  Must(::truncate(file.kept_path.c_str(), static_cast<off_t>(cut)) == 0, "cutting", file.kept_path);
  if (fate < kZeros) return;
  std::string scrambled(end - cut, '\0');
  if (fate == kRandom) {
    for (char& byte : scrambled) byte = static_cast<char>(random());
  }
  const int fd = ::open(file.kept_path.c_str(), O_WRONLY | O_CLOEXEC);
  Must(fd >= 0 && ::pwrite(fd, scrambled.data(), scrambled.size(), static_cast<off_t>(cut)) ==
                      static_cast<ssize_t>(scrambled.size()),
       "scrambling", file.kept_path);
  ::close(fd);
}

void DiskImage::Settle(uint64_t seed, const Leftovers& leftovers) {
  std::mt19937_64 random(seed);
  std::set<FileState*> settled;
  for (const auto& [relative, id] : taken_) {
    const auto found = directories_.find(id);
    if (found == directories_.end()) continue;
    Directory& directory = found->second;
    std::vector<Names> all = directory.changes;
    all.push_back(directory.now);
    all.push_back(directory.durable);
    for (const Names& names : all) {
      for (const auto& [name, file] : names) {
        if (file == nullptr || !settled.insert(file.get()).second) continue;
        const bool scrambles = !IsManifest(name) && (!IsLog(name) || leftovers.scrambled_logs);
        SettleTail(*file, scrambles, random);
      }
    }
    SettleNames(image_ + "/" + relative, directory, leftovers.unordered_entries, random);
  }
  fs::remove_all(root_);
  fs::rename(image_, root_);
  directories_.clear();
  taken_.clear();
}

}  // namespace coffer
