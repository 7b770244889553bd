// SPDX-License-Identifier: Apache-2.0
// BLAKE3 as the paper states it, recursive, slow and obvious, to check everything else against. Shares no
// code with hashing/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace coffer::reference {

using Bytes = std::vector<uint8_t>;

// Output bytes [offset, offset + length) of each mode.
Bytes Hash(const Bytes& input, size_t length = 32, uint64_t offset = 0);
Bytes KeyedHash(const std::array<uint8_t, 32>& key, const Bytes& input, size_t length = 32, uint64_t offset = 0);
Bytes DeriveKey(const std::string& context, const Bytes& material, size_t length = 32, uint64_t offset = 0);

// The chaining value of `input` as a subtree that starts at chunk `first_chunk` and is not the root.
Bytes ChainingValue(const Bytes& input, uint64_t first_chunk);

// A parent above 16 KiB chunk groups.
struct Parent {
  int height;  // 1 joins two groups
  Bytes node;  // 64 bytes
  friend bool operator==(const Parent&, const Parent&) = default;
};

// All of them, children before parents or parents before children.
std::vector<Parent> PostOrderParents(const Bytes& input);
std::vector<Parent> PreOrderParents(const Bytes& input);

}  // namespace coffer::reference
