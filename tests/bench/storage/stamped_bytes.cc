// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/storage/stamped_bytes.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace coffer::bench {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kStampBytes = 2 * sizeof(uint64_t);

// The finisher of splitmix64.
uint64_t Scatter(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

void FillScattered(std::string& bytes, uint64_t seed) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(seed)) {
    seed += 0x9e3779b97f4a7c15;
    const uint64_t word = Scatter(seed);
    std::memcpy(&bytes[at], &word, std::min(sizeof(word), bytes.size() - at));
  }
}

}  // namespace

StampedBytes::StampedBytes(size_t capacity_bytes) : bytes_(capacity_bytes, '\0') { FillScattered(bytes_, 1); }

absl::string_view StampedBytes::Piece(uint64_t number, uint64_t piece, size_t size_bytes) {
  if (size_bytes < kStampBytes || size_bytes > bytes_.size()) {
    std::fprintf(stderr, "storage_bench: no content of %zu bytes\n", size_bytes);
    std::abort();
  }
  const uint64_t stamp[2] = {number, piece};
  for (size_t at = 0; at + kStampBytes <= size_bytes; at += kPageBytes) std::memcpy(&bytes_[at], stamp, kStampBytes);
  return absl::string_view(bytes_).substr(0, size_bytes);
}

std::string ScatteredKey(uint64_t number, size_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  FillScattered(bytes, Scatter(number));
  return bytes;
}

}  // namespace coffer::bench
