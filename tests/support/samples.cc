// SPDX-License-Identifier: Apache-2.0
#include "tests/support/samples.h"

#include <cstring>
#include <random>

#include "hashing/bytes.h"
#include "hashing/subtree.h"

namespace coffer {

std::string RandomBytes(size_t size_bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(size_bytes + 8, '\0');
  for (size_t i = 0; i < size_bytes; i += 8) {
    const uint64_t word = random();
    std::memcpy(&bytes[i], &word, sizeof(word));
  }
  bytes.resize(size_bytes);
  return bytes;
}

Digest DigestOf(const std::string& content) { return HashBlob(BytesOf(content)); }

}  // namespace coffer
