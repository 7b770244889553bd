// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "storage/engine.h"

namespace rocksdb {
class Env;
}

namespace coffer {

// Receives a sentence that an operator should see, on the calling thread.
using Notice = std::function<void(const std::string&)>;

struct RocksOptions {
  // Made if it does not exist. One process at a time holds it.
  std::string data_dir;
  // Borrowed, outlives the engine. Null means the real disk; tests put one in between that fails.
  rocksdb::Env* env = nullptr;
  // Keeps a file of up to 256 MiB that is removed when the disk is full, so that deletes work (FORMAT.md).
  bool keeps_ballast = false;
  // Told what the start found and mended.
  Notice notice = [](const std::string&) {};
};

// Opens the embedded RocksDB engine, after the start-up sequence of FORMAT.md 9. FAILED_PRECONDITION if another
// process holds the directory (naming it) or if the format is newer than this program; DATA_LOSS if what was
// acknowledged cannot be read, naming the way on; UNAVAILABLE if the directory cannot be made or written.
absl::StatusOr<std::unique_ptr<Engine>> OpenRocksEngine(const RocksOptions& options);

}  // namespace coffer
