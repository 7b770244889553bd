// SPDX-License-Identifier: Apache-2.0
//
// A file that appears whole or not at all:
//  1. it is written under a temporary name in the directory where it belongs;
//  2. Commit() syncs it and renames it, which replaces what had the name;
//  3. without Commit(), also on every error path, the destructor removes the temporary file.
// What a kill -9 leaves behind is named ".coffer-*.part" and may be deleted.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/unique_fd.h"
#include "hashing/bytes.h"

namespace coffer::client {

// Writes all of `bytes` to `fd`; `what` is for the message. Errors as absl::ErrnoToStatus gives them.
absl::Status WriteAll(int fd, ByteSpan bytes, const std::string& what);

// Used by one thread at a time.
class PartFile {
 public:
  // `name` is one path component in the open directory `dir_fd`, which must outlive the object. `path` is for
  // messages. No symbolic link is followed. A directory in the place of `name` is found at Commit().
  static absl::StatusOr<std::unique_ptr<PartFile>> Create(int dir_fd, std::string name, std::string path);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  // The permissions that it shall have, instead of those that the umask gives.
  absl::Status SetMode(mode_t mode);
  absl::Status Write(ByteSpan bytes);
  absl::Status Commit();

 private:
  PartFile(int dir_fd, std::string name, std::string path) : dir_fd_(dir_fd), name_(name), path_(path) {}

  int dir_fd_;
  std::string name_;
  std::string path_;
  std::string part_name_;
  UniqueFd fd_;
};

}  // namespace coffer::client
