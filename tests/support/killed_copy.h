// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include "absl/time/clock.h"

namespace coffer {

// Copies the directory of a store that is open, as a kill at this moment would leave it. Nobody puts meanwhile; what
// the database does by itself, which changes files one after the other, is waited for. False if it does not come to
// rest.
inline bool CopyAsKilled(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  const auto sizes = [&from] {
    std::map<std::string, uint64_t> sizes;
    std::error_code error;
    for (fs::recursive_directory_iterator it(from, error), end; !error && it != end; it.increment(error)) {
      std::error_code gone;
      const uint64_t size_bytes = it->is_regular_file(gone) ? it->file_size(gone) : 0;
      sizes[it->path()] = size_bytes;
    }
    if (error) sizes.clear();
    return sizes;
  };
  for (int tries = 0; tries < 100; ++tries) {
    std::error_code error;
    fs::remove_all(to, error);
    const std::map<std::string, uint64_t> before = sizes();
    absl::SleepFor(absl::Milliseconds(20));
    fs::copy(from, to, fs::copy_options::recursive, error);
    if (!error && !before.empty() && sizes() == before) return true;
    absl::SleepFor(absl::Milliseconds(100));
  }
  return false;
}

}  // namespace coffer
