// SPDX-License-Identifier: Apache-2.0
//
// One server a data directory: an advisory lock on a file in it, which holds the process id of its owner.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace coffer {

// The lock is free again when this is destroyed, and when the process ends, however it ends. The file stays.
class DataDirectoryLock {
 public:
  static constexpr char kFileName[] = "cofferd.lock";

  // Makes `directory` if it does not exist. FAILED_PRECONDITION, naming the directory, if another process has
  // it (naming that too), if it is not a directory, or cannot be made or written.
  static absl::StatusOr<std::unique_ptr<DataDirectoryLock>> Take(const std::string& directory);

  ~DataDirectoryLock();
  DataDirectoryLock(const DataDirectoryLock&) = delete;
  DataDirectoryLock& operator=(const DataDirectoryLock&) = delete;

 private:
  explicit DataDirectoryLock(int fd) : fd_(fd) {}

  const int fd_;
};

}  // namespace coffer
