// SPDX-License-Identifier: Apache-2.0
//
// A file descriptor that closes itself.
#pragma once

#include <unistd.h>

namespace coffer {

// Owns one descriptor, or none if it is negative. Not thread-safe.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace coffer
