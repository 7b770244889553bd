// SPDX-License-Identifier: Apache-2.0
//
// The blobs of a fault run: few enough to be put again and again, with sizes at the borders where a store treats them
// differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "hashing/digest.h"

namespace coffer::faults {

// Names a blob of Contents.
using ContentId = size_t;

// The same in every process with the same seed. Thread-safe.
class Contents {
 public:
  explicit Contents(uint64_t seed);

  const std::string& bytes(ContentId id) const { return blobs_[id].bytes; }
  const Digest& digest(ContentId id) const { return blobs_[id].digest; }
  uint64_t size_bytes(ContentId id) const { return blobs_[id].bytes.size(); }

  std::optional<ContentId> Find(const Digest& digest) const;

  // Mostly small ones; one in a hundred is larger than 8 MiB.
  ContentId Any(std::mt19937_64& random) const;
  // Up to 64 KiB.
  ContentId Small(std::mt19937_64& random) const;
  // More than 8 MiB.
  ContentId Huge(std::mt19937_64& random) const;

 private:
  struct Blob {
    std::string bytes;
    Digest digest;
  };

  std::vector<Blob> blobs_;
  std::map<std::string, ContentId> by_digest_;
  // [0, small_) are small, then medium ones, and from huge_ on they are huge.
  size_t small_ = 0;
  size_t huge_ = 0;
};

}  // namespace coffer::faults
