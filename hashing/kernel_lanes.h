// SPDX-License-Identifier: Apache-2.0
// BLAKE3 over many inputs at once, one per SIMD lane, written once for all vector widths. A kernel file
// describes its vectors by a struct V (register type, arithmetic, transposition) and instantiates Lanes<V>;
// everything here has internal linkage, so that each kernel file keeps its own copy, compiled for its own
// instruction set.
//
// A state word of all lanes is one register ("transposed"): word i of lane j is element j of register i. V
// gives
//   Reg, kWidth                      the register type and its number of 32-bit lanes
//   Set1, Load, Store                broadcast a word; load and store kWidth words
//   Add, Xor, Ror16, Ror12, Ror8, Ror7
//   LoadBlocks(at, m)                64 bytes from each of at[0..kWidth) as 16 transposed registers
//   StoreChains(h, out)              8 transposed registers as kWidth runs of 32 bytes
#pragma once

#include <cstring>

#include "hashing/kernel.h"
#include "hashing/kernel_table.h"

#define COFFER_INLINE inline __attribute__((always_inline))

namespace coffer {
namespace {

constexpr size_t kBlockBytes = 64;
constexpr size_t kChainBytes = 32;
constexpr size_t kInputBytes = 1024;
constexpr int kInputBlocks = 16;

// The message permutation of BLAKE3 (paper 2.2, table 2), applied 0 to 6 times.
constexpr int kSchedule[7][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
    {3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1},
    {10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
    {12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4},
    {9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
    {11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13},
};

template <typename V>
struct Lanes {
  using Reg = typename V::Reg;
  static constexpr size_t kWidth = V::kWidth;

  // Four quarter rounds side by side (BLAKE3 paper 2.2); M0 is the place in the schedule of the first message
  // word.
  template <int R, int M0>
  static COFFER_INLINE void MixFour(Reg& a0, Reg& b0, Reg& c0, Reg& d0, Reg& a1, Reg& b1, Reg& c1, Reg& d1,
                                    Reg& a2, Reg& b2, Reg& c2, Reg& d2, Reg& a3, Reg& b3, Reg& c3, Reg& d3,
                                    const Reg* m) {
    constexpr const int* s = kSchedule[R];
    a0 = V::Add(V::Add(a0, m[s[M0 + 0]]), b0);
    a1 = V::Add(V::Add(a1, m[s[M0 + 2]]), b1);
    a2 = V::Add(V::Add(a2, m[s[M0 + 4]]), b2);
    a3 = V::Add(V::Add(a3, m[s[M0 + 6]]), b3);
    d0 = V::Ror16(V::Xor(d0, a0));
    d1 = V::Ror16(V::Xor(d1, a1));
    d2 = V::Ror16(V::Xor(d2, a2));
    d3 = V::Ror16(V::Xor(d3, a3));
    c0 = V::Add(c0, d0);
    c1 = V::Add(c1, d1);
    c2 = V::Add(c2, d2);
    c3 = V::Add(c3, d3);
    b0 = V::Ror12(V::Xor(b0, c0));
    b1 = V::Ror12(V::Xor(b1, c1));
    b2 = V::Ror12(V::Xor(b2, c2));
    b3 = V::Ror12(V::Xor(b3, c3));
    a0 = V::Add(V::Add(a0, m[s[M0 + 1]]), b0);
    a1 = V::Add(V::Add(a1, m[s[M0 + 3]]), b1);
    a2 = V::Add(V::Add(a2, m[s[M0 + 5]]), b2);
    a3 = V::Add(V::Add(a3, m[s[M0 + 7]]), b3);
    d0 = V::Ror8(V::Xor(d0, a0));
    d1 = V::Ror8(V::Xor(d1, a1));
    d2 = V::Ror8(V::Xor(d2, a2));
    d3 = V::Ror8(V::Xor(d3, a3));
    c0 = V::Add(c0, d0);
    c1 = V::Add(c1, d1);
    c2 = V::Add(c2, d2);
    c3 = V::Add(c3, d3);
    b0 = V::Ror7(V::Xor(b0, c0));
    b1 = V::Ror7(V::Xor(b1, c1));
    b2 = V::Ror7(V::Xor(b2, c2));
    b3 = V::Ror7(V::Xor(b3, c3));
  }

  template <int R>
  static COFFER_INLINE void Round(Reg* v, const Reg* m) {
    MixFour<R, 0>(v[0], v[4], v[8], v[12], v[1], v[5], v[9], v[13], v[2], v[6], v[10], v[14], v[3], v[7],
                  v[11], v[15], m);
    MixFour<R, 8>(v[0], v[5], v[10], v[15], v[1], v[6], v[11], v[12], v[2], v[7], v[8], v[13], v[3], v[4],
                  v[9], v[14], m);
  }

  static COFFER_INLINE void Compress(Reg* h, const Reg* m, Reg counter_low, Reg counter_high, Reg block_bytes,
                                     Reg flags) {
    Reg v[16] = {h[0],
                 h[1],
                 h[2],
                 h[3],
                 h[4],
                 h[5],
                 h[6],
                 h[7],
                 V::Set1(kInitialWords[0]),
                 V::Set1(kInitialWords[1]),
                 V::Set1(kInitialWords[2]),
                 V::Set1(kInitialWords[3]),
                 counter_low,
                 counter_high,
                 block_bytes,
                 flags};
    Round<0>(v, m);
    Round<1>(v, m);
    Round<2>(v, m);
    Round<3>(v, m);
    Round<4>(v, m);
    Round<5>(v, m);
    Round<6>(v, m);
    for (int i = 0; i < 8; ++i) h[i] = V::Xor(v[i], v[i + 8]);
  }

  // kWidth whole chunks, one after the other, in one pass without any branch on lengths.
  static void HashWholeChunks(const uint8_t* bytes, const uint32_t* key, uint64_t counter, uint8_t flags,
                              uint8_t* out) {
    alignas(64) uint32_t low[kWidth];
    alignas(64) uint32_t high[kWidth];
    const uint8_t* at[kWidth];
    for (size_t j = 0; j < kWidth; ++j) {
      low[j] = static_cast<uint32_t>(counter + j);
      high[j] = static_cast<uint32_t>((counter + j) >> 32);
      at[j] = bytes + j * kInputBytes;
    }
    Reg h[8];
    for (int i = 0; i < 8; ++i) h[i] = V::Set1(key[i]);
    const Reg counter_low = V::Load(low);
    const Reg counter_high = V::Load(high);
    const Reg block_bytes = V::Set1(kBlockBytes);
    for (int block = 0; block < kInputBlocks; ++block) {
      uint32_t block_flags = flags;
      if (block == 0) block_flags |= kFlagChunkStart;
      if (block == kInputBlocks - 1) block_flags |= kFlagChunkEnd;
      Reg m[16];
      V::LoadBlocks(at, m);
      for (size_t j = 0; j < kWidth; ++j) at[j] += kBlockBytes;
      Compress(h, m, counter_low, counter_high, block_bytes, V::Set1(block_flags));
    }
    V::StoreChains(h, out);
  }

  // Up to kWidth parent nodes that lie one after the other.
  static void HashFewParents(const uint8_t* nodes, size_t count, const uint32_t* key, uint8_t flags,
                             uint8_t* out) {
    const uint8_t* at[kWidth];
    for (size_t j = 0; j < kWidth; ++j) at[j] = nodes + (j < count ? j : 0) * kBlockBytes;
    Reg h[8];
    for (int i = 0; i < 8; ++i) h[i] = V::Set1(key[i]);
    Reg m[16];
    V::LoadBlocks(at, m);
    Compress(h, m, V::Set1(0), V::Set1(0), V::Set1(kBlockBytes), V::Set1(flags));
    if (count == kWidth) {
      V::StoreChains(h, out);
    } else {
      alignas(64) uint8_t chains[kWidth * kChainBytes];
      V::StoreChains(h, chains);
      std::memcpy(out, chains, count * kChainBytes);
    }
  }

  // Any number of inputs of any lengths: a lane that ends takes the next input.
  static void HashInputs(const LaneInput* inputs, size_t count) {
    alignas(64) static constexpr uint8_t kZeros[kBlockBytes] = {};
    alignas(64) uint32_t h_words[8][kWidth] = {};
    alignas(64) uint32_t low[kWidth] = {}, high[kWidth] = {}, len[kWidth] = {}, flag[kWidth] = {};
    alignas(64) uint8_t padded[kWidth][kBlockBytes];
    alignas(64) uint8_t chains[kWidth * kChainBytes];
    const LaneInput* input[kWidth] = {};
    const uint8_t* at[kWidth];
    uint32_t left_bytes[kWidth] = {};
    size_t next = 0;
    size_t active = 0;
    const auto start = [&](size_t j) {
      if (next == count) {
        input[j] = nullptr;
        at[j] = kZeros;
        return;
      }
      input[j] = &inputs[next++];
      ++active;
      at[j] = input[j]->bytes;
      left_bytes[j] = input[j]->size_bytes;
      low[j] = static_cast<uint32_t>(input[j]->counter);
      high[j] = static_cast<uint32_t>(input[j]->counter >> 32);
      flag[j] = input[j]->flags | input[j]->first_flags;
      for (int i = 0; i < 8; ++i) h_words[i][j] = input[j]->key[i];
    };
    for (size_t j = 0; j < kWidth; ++j) start(j);
    while (active > 0) {
      bool ends = false;
      for (size_t j = 0; j < kWidth; ++j) {
        if (input[j] == nullptr) continue;
        len[j] = kBlockBytes;
        if (left_bytes[j] > kBlockBytes) continue;
        ends = true;
        flag[j] |= input[j]->last_flags;
        if (left_bytes[j] == kBlockBytes) continue;
        len[j] = left_bytes[j];
        std::memset(padded[j], 0, kBlockBytes);
        if (left_bytes[j] > 0) std::memcpy(padded[j], at[j], left_bytes[j]);
        at[j] = padded[j];
      }
      Reg h[8];
      Reg m[16];
      for (int i = 0; i < 8; ++i) h[i] = V::Load(h_words[i]);
      V::LoadBlocks(at, m);
      Compress(h, m, V::Load(low), V::Load(high), V::Load(len), V::Load(flag));
      for (int i = 0; i < 8; ++i) V::Store(h_words[i], h[i]);
      if (ends) V::StoreChains(h, chains);
      for (size_t j = 0; j < kWidth; ++j) {
        if (input[j] == nullptr) continue;
        if (left_bytes[j] <= kBlockBytes) {
          std::memcpy(input[j]->out, chains + j * kChainBytes, kChainBytes);
          --active;
          start(j);
        } else {
          left_bytes[j] -= kBlockBytes;
          at[j] += kBlockBytes;
          flag[j] = input[j]->flags;
        }
      }
    }
  }
};

// The functions of a kernel whose widest vector is V; Narrower... are the widths it may fall back to,
// descending.
template <typename V, typename... Narrower>
struct LaneKernel {
  static void HashLanes(const LaneInput* inputs, size_t count) {
    if constexpr (sizeof...(Narrower) > 0) {
      using Next = LaneKernel<Narrower...>;
      if (count <= Next::kWidth) return Next::HashLanes(inputs, count);
    } else if (count == 1) {
      return HashLanePortable(*inputs);
    }
    if (count > 0) Lanes<V>::HashInputs(inputs, count);
  }

  static void HashChunks(const uint8_t* bytes, size_t size_bytes, const uint32_t* key, uint64_t counter,
                         uint8_t flags, uint8_t* out) {
    constexpr size_t kPassBytes = V::kWidth * kInputBytes;
    for (; size_bytes >= kPassBytes; size_bytes -= kPassBytes) {
      Lanes<V>::HashWholeChunks(bytes, key, counter, flags, out);
      bytes += kPassBytes;
      counter += V::kWidth;
      out += V::kWidth * kChainBytes;
    }
    if (size_bytes == 0) return;
    if constexpr (sizeof...(Narrower) > 0) {
      using Next = LaneKernel<Narrower...>;
      if (size_bytes <= Next::kWidth * kInputBytes) {
        return Next::HashChunks(bytes, size_bytes, key, counter, flags, out);
      }
    }
    LaneInput inputs[V::kWidth];
    size_t count = 0;
    for (; size_bytes > 0; ++count) {
      const size_t chunk_bytes = size_bytes < kInputBytes ? size_bytes : kInputBytes;
      inputs[count] = {bytes + count * kInputBytes,
                       out + count * kChainBytes,
                       key,
                       counter + count,
                       static_cast<uint32_t>(chunk_bytes),
                       flags,
                       kFlagChunkStart,
                       kFlagChunkEnd};
      size_bytes -= chunk_bytes;
    }
    HashLanes(inputs, count);
  }

  static void HashParents(const uint8_t* nodes, size_t count, const uint32_t* key, uint8_t flags,
                          uint8_t* out) {
    for (; count >= V::kWidth; count -= V::kWidth) {
      Lanes<V>::HashFewParents(nodes, V::kWidth, key, flags, out);
      nodes += V::kWidth * kBlockBytes;
      out += V::kWidth * kChainBytes;
    }
    if (count == 0) return;
    if constexpr (sizeof...(Narrower) > 0) {
      using Next = LaneKernel<Narrower...>;
      if (count <= Next::kWidth) return Next::HashParents(nodes, count, key, flags, out);
    } else if (count == 1) {
      return HashLanePortable({nodes, out, key, 0, kBlockBytes, flags, 0, 0});
    }
    Lanes<V>::HashFewParents(nodes, count, key, flags, out);
  }

  static constexpr size_t kWidth = V::kWidth;
};

}  // namespace
}  // namespace coffer
