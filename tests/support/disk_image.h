// SPDX-License-Identifier: Apache-2.0
//
// What is durable of a directory tree whose files are written through a CrashingDisk, and what a crash makes of it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace coffer {

// What a crash may leave beyond what every file system may: a shorter file, and the first of the unsynced directory
// entries.
struct Leftovers {
  // The unsynced end of a log may be zeros or garbage from some place on, and as long as it was.
  bool scrambled_logs = false;
  // Of the unsynced directory entries any may survive, which no file system with a journal does.
  bool unordered_entries = false;
};

// A file, whatever its names are. A further link beside the tree keeps it when it has none.
struct FileState {
  std::string kept_path;
  ino_t inode = 0;
  uint64_t size_bytes = 0;
  uint64_t synced_bytes = 0;

  FileState() = default;
  FileState(const FileState&) = delete;
  FileState& operator=(const FileState&) = delete;
  ~FileState();

  void CutAt(uint64_t new_size_bytes);
};

// Directories are known by their inodes, for they may be renamed.
using DirectoryId = ino_t;

// Used by one thread at a time.
class DiskImage {
 public:
  explicit DiskImage(std::string root);
  ~DiskImage();

  // 0 if there is none.
  static DirectoryId DirectoryAt(const std::string& path);

  // The file with that name; null if there is none. One that is not followed yet counts as synced.
  std::shared_ptr<FileState> FileAt(const std::string& path);

  // Before and after a file is made: what had that name stays as it was.
  void BeforeCreate(const std::string& path);
  std::shared_ptr<FileState> Created(const std::string& path);

  // `file` has lost the name `from` and got the name `to`, in one step; either may be empty. Whatever had the name `to`
  // has lost it.
  void Renamed(const std::string& from, const std::string& to, const std::shared_ptr<FileState>& file);

  void SyncDirectory(DirectoryId directory);

  // Keeps the tree as it is now.
  void Take();

  // Makes the tree what a disk may hold of the one that was taken, and begins anew.
  void Settle(uint64_t seed, const Leftovers& leftovers);

 private:
  // Names and what they stand for; null: nothing.
  using Names = std::map<std::string, std::shared_ptr<FileState>>;
  struct Directory {
    Names now;
    // What the names that changed since the last sync stood for then, and the changes in order.
    Names durable;
    std::vector<Names> changes;
  };

  std::shared_ptr<FileState> Follow(const std::string& path, bool is_new);
  void Change(const std::string& directory, const Names& names);
  void SettleNames(const std::string& directory_path, Directory& directory, bool any_order, std::mt19937_64& random);
  void SettleTail(FileState& file, bool scrambles, std::mt19937_64& random);

  const std::string root_;
  const std::string kept_;
  const std::string image_;
  uint64_t next_kept_ = 0;
  std::map<DirectoryId, Directory> directories_;
  // Where they were when the image was taken, relative to the root.
  std::map<std::string, DirectoryId> taken_;
};

}  // namespace coffer
