// SPDX-License-Identifier: Apache-2.0
//
// From the paths of a `coffer put` to the files to send and the names that they get: a file its base name, a
// file below a directory (-r) its path relative to that directory, "-" standard input.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace coffer::client::cli {

struct Input {
  std::string path;
  std::string name;  // empty for standard input: the digest
  // Found below a directory: only a regular file will do.
  bool found = false;
  uint64_t size_bytes = 0;
};

struct WalkVisitor {
  // False ends the walk.
  std::function<bool(const Input&)> file;
  // A symbolic link, socket, device or FIFO below a directory.
  std::function<void(const std::string& path)> skipped;
  std::function<void(const std::string& path, const absl::Status&)> failed;
};

// Visits the inputs in the order of `paths`, below a directory in byte order of the file names. Directories are
// entered only if `recursive`, else they fail with INVALID_ARGUMENT. Holds the names of one directory a level.
void Walk(const std::vector<std::string>& paths, bool recursive, const WalkVisitor& visitor);

}  // namespace coffer::client::cli
