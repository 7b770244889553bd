// SPDX-License-Identifier: Apache-2.0
// The portable kernel: BLAKE3's compression in plain C++, one input at a time, written to be read.
#include <algorithm>
#include <bit>
#include <cstring>

#include "hashing/kernel.h"
#include "hashing/kernel_table.h"

namespace coffer {
namespace {

static_assert(std::endian::native == std::endian::little, "words are loaded and stored as they lie in memory");

constexpr size_t kBlockBytes = 64;
constexpr size_t kMaxInputBytes = 1024;

// The message permutation of BLAKE3 (paper 2.2, table 2), applied 0 to 6 times.
constexpr uint8_t kSchedule[7][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
    {3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1}, {10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
    {12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4}, {9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
    {11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13},
};

// The quarter round (BLAKE3 paper 2.2).
inline void Mix(uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d, uint32_t x, uint32_t y) {
  a += b + x;
  d = std::rotr(d ^ a, 16);
  c += d;
  b = std::rotr(b ^ c, 12);
  a += b + y;
  d = std::rotr(d ^ a, 8);
  c += d;
  b = std::rotr(b ^ c, 7);
}

// The 16 state words after seven rounds; the caller folds them.
inline void Permute(uint32_t state[16], const uint32_t* chain, const uint8_t* block, uint32_t block_bytes,
                    uint64_t counter, uint8_t flags) {
  uint32_t words[16];
  std::memcpy(words, block, sizeof(words));
  for (int i = 0; i < 8; ++i) state[i] = chain[i];
  for (int i = 0; i < 4; ++i) state[8 + i] = kInitialWords[i];
  state[12] = static_cast<uint32_t>(counter);
  state[13] = static_cast<uint32_t>(counter >> 32);
  state[14] = block_bytes;
  state[15] = flags;
  for (const auto& order : kSchedule) {
    Mix(state[0], state[4], state[8], state[12], words[order[0]], words[order[1]]);
    Mix(state[1], state[5], state[9], state[13], words[order[2]], words[order[3]]);
    Mix(state[2], state[6], state[10], state[14], words[order[4]], words[order[5]]);
    Mix(state[3], state[7], state[11], state[15], words[order[6]], words[order[7]]);
    Mix(state[0], state[5], state[10], state[15], words[order[8]], words[order[9]]);
    Mix(state[1], state[6], state[11], state[12], words[order[10]], words[order[11]]);
    Mix(state[2], state[7], state[8], state[13], words[order[12]], words[order[13]]);
    Mix(state[3], state[4], state[9], state[14], words[order[14]], words[order[15]]);
  }
}

inline void Absorb(uint32_t* chain, const uint8_t* block, uint32_t block_bytes, uint64_t counter, uint8_t flags) {
  uint32_t state[16];
  Permute(state, chain, block, block_bytes, counter, flags);
  for (int i = 0; i < 8; ++i) chain[i] = state[i] ^ state[i + 8];
}

// A whole input in one lane.
void HashOne(const LaneInput& input) {
  uint32_t chain[8];
  std::memcpy(chain, input.key, sizeof(chain));
  const size_t whole = input.size_bytes == 0 ? 0 : (input.size_bytes - 1) / kBlockBytes;
  AbsorbPortable(chain, input.bytes, whole, kBlockBytes, input.counter, input.flags, input.first_flags);
  const uint32_t rest_bytes = static_cast<uint32_t>(input.size_bytes - whole * kBlockBytes);
  uint8_t last[kBlockBytes] = {};
  if (rest_bytes > 0) std::memcpy(last, input.bytes + whole * kBlockBytes, rest_bytes);
  Absorb(chain, last, rest_bytes, input.counter, input.flags | input.last_flags | (whole == 0 ? input.first_flags : 0));
  std::memcpy(input.out, chain, sizeof(chain));
}

bool Supported() { return true; }

void HashLanes(const LaneInput* inputs, size_t count) {
  for (size_t i = 0; i < count; ++i) HashOne(inputs[i]);
}

void HashChunks(const uint8_t* bytes, size_t size_bytes, const uint32_t* key, uint64_t counter, uint8_t flags,
                uint8_t* out) {
  while (size_bytes > 0) {
    const size_t chunk_bytes = std::min(size_bytes, kMaxInputBytes);
    HashOne({bytes, out, key, counter, static_cast<uint32_t>(chunk_bytes), flags, kFlagChunkStart, kFlagChunkEnd});
    bytes += chunk_bytes;
    size_bytes -= chunk_bytes;
    out += 32;
    ++counter;
  }
}

void HashParents(const uint8_t* nodes, size_t count, const uint32_t* key, uint8_t flags, uint8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    HashOne({nodes + i * kBlockBytes, out + i * 32, key, 0, kBlockBytes, flags, 0, 0});
  }
}

}  // namespace

void AbsorbPortable(uint32_t* chain, const uint8_t* blocks, size_t count, uint32_t block_bytes, uint64_t counter,
                    uint8_t flags, uint8_t first_flags) {
  for (size_t i = 0; i < count; ++i) {
    Absorb(chain, blocks + i * kBlockBytes, block_bytes, counter, flags | (i == 0 ? first_flags : 0));
  }
}

void CompressPortable(const uint32_t* chain, const uint8_t* block, uint32_t block_bytes, uint64_t counter,
                      uint8_t flags, uint8_t* out) {
  uint32_t state[16];
  Permute(state, chain, block, block_bytes, counter, flags);
  for (int i = 0; i < 8; ++i) {
    state[i] ^= state[i + 8];
    state[i + 8] ^= chain[i];
  }
  std::memcpy(out, state, sizeof(state));
}

extern const Kernel kPortableKernel = {
    "portable", Supported, HashLanes, HashChunks, HashParents, AbsorbPortable, CompressPortable,
};

}  // namespace coffer
