// SPDX-License-Identifier: Apache-2.0
//
// The digest of a local file on all cores: threads read and hash parts of their own, so neither the reading nor the
// hashing is done by one alone.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "client/source.h"
#include "hashing/digest.h"
#include "hashing/worker_pool.h"

namespace coffer::client {

// Used by one thread at a time; that one works as well.
class FileHasher {
 public:
  // Called with bytes that were hashed since the last call, from any of the threads; false ends the work with
  // CANCELLED.
  using Progress = std::function<bool(int64_t)>;

  // `threads` in all, at least 1.
  explicit FileHasher(int threads);

  // Hashes what `source` gives, from where it stands. A regular file above kParallelBytes is read at several places at
  // once; FAILED_PRECONDITION if it shrinks meanwhile. Other errors are those of `source`.
  absl::StatusOr<Digest> Hash(FileSource& source, const Progress& progress);

  // Below this a second thread costs more than it brings.
  static constexpr uint64_t kParallelBytes = 2 << 20;

 private:
  absl::StatusOr<Digest> HashStream(FileSource& source, const Progress& progress);
  absl::StatusOr<Digest> HashParts(const FileSource& source, uint64_t size_bytes, const Progress& progress);

  WorkerPool others_;
  const int threads_;
};

}  // namespace coffer::client
