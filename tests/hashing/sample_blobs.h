// SPDX-License-Identifier: Apache-2.0
// The inputs that the hashing tests share: a fixed byte pattern, every boundary length, and seeded random
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "absl/strings/string_view.h"
#include "hashing/bytes.h"
#include "hashing/kernel.h"

namespace coffer {

// `size_bytes` bytes that repeat nowhere within any blob the tests use; the same for the same seed.
inline std::vector<uint8_t> SampleBlob(size_t size_bytes, uint64_t seed = 1) {
  std::vector<uint8_t> bytes(size_bytes);
  uint64_t state = seed * 0x9E3779B97F4A7C15;
  for (uint8_t& byte : bytes) {
    state = state * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<uint8_t>(state >> 56);
  }
  return bytes;
}

// Every length at which the shape of the tree or the last block changes, up to `limit`.
inline std::vector<size_t> BoundarySizes(size_t limit) {
  std::set<size_t> sizes = {0, 1, 2, 3, 4, 63, 64, 65, 127, 128, 129, 100, 1000};
  for (size_t chunks = 1; chunks <= 40; ++chunks) {
    for (size_t delta : {0, 1, 64, 1023}) sizes.insert(chunks * 1024 + delta);
    sizes.insert(chunks * 1024 - 1);
  }
  for (size_t size = 1024; size <= limit; size *= 2) {
    for (size_t around : {size, size + size / 2, size + 16384}) {
      sizes.insert({around - 1024, around - 1, around, around + 1, around + 1024});
    }
  }
  sizes.insert({10000, 11264, 15360, 100000, 1000000});
  return {sizes.begin(), sizes.upper_bound(limit)};
}

inline absl::string_view ViewOf(const std::vector<uint8_t>& bytes) {
  return absl::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// The kernels that this machine runs.
inline std::vector<const Kernel*> SupportedKernels() {
  std::vector<const Kernel*> kernels;
  for (const Kernel* kernel : AllKernels()) {
    if (kernel->supported()) kernels.push_back(kernel);
  }
  return kernels;
}

// Makes `kernel` the active one while in scope.
class ScopedKernel {
 public:
  explicit ScopedKernel(const Kernel& kernel) : before_(ActiveKernel()) { SetActiveKernel(kernel); }
  ~ScopedKernel() { SetActiveKernel(before_); }
  ScopedKernel(const ScopedKernel&) = delete;
  ScopedKernel& operator=(const ScopedKernel&) = delete;

 private:
  const Kernel& before_;
};

}  // namespace coffer
