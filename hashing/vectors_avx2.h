// SPDX-License-Identifier: Apache-2.0
// Vectors of eight lanes for kernel_lanes.h.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "hashing/kernel_lanes.h"

namespace coffer {
namespace {

struct EightLanes : CopiedTail {
  using Reg = __m256i;
  static constexpr size_t kWidth = 8;

  static Reg Set1(uint32_t word) { return _mm256_set1_epi32(static_cast<int>(word)); }
  static Reg Load(const uint32_t* words) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words)); }
  static void Store(uint32_t* words, Reg r) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), r); }
  static Reg Add(Reg a, Reg b) { return _mm256_add_epi32(a, b); }
  static Reg Xor(Reg a, Reg b) { return _mm256_xor_si256(a, b); }
  static void AddFromMemory(Reg& a, const Reg& m) { asm("vpaddd %1, %0, %0" : "+x"(a) : "m"(m)); }
#ifdef __AVX512VL__
  static Reg Ror16(Reg a) { return _mm256_ror_epi32(a, 16); }
  static Reg Ror12(Reg a) { return _mm256_ror_epi32(a, 12); }
  static Reg Ror8(Reg a) { return _mm256_ror_epi32(a, 8); }
  static Reg Ror7(Reg a) { return _mm256_ror_epi32(a, 7); }
#else
  static Reg Ror16(Reg a) {
    return _mm256_shuffle_epi8(
        a, _mm256_broadcastsi128_si256(_mm_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2)));
  }
  static Reg Ror12(Reg a) { return _mm256_or_si256(_mm256_srli_epi32(a, 12), _mm256_slli_epi32(a, 20)); }
  static Reg Ror8(Reg a) {
    return _mm256_shuffle_epi8(
        a, _mm256_broadcastsi128_si256(_mm_set_epi8(12, 15, 14, 13, 8, 11, 10, 9, 4, 7, 6, 5, 0, 3, 2, 1)));
  }
  static Reg Ror7(Reg a) { return _mm256_or_si256(_mm256_srli_epi32(a, 7), _mm256_slli_epi32(a, 25)); }
#endif

  // rows[i] is 32 bytes of lane i; out[i] is word i of all lanes.
  static void Transpose8(const Reg* rows, Reg* out) {
    Reg pairs[8];
    Reg quads[8];
    for (int i = 0; i < 8; i += 2) {
      pairs[i] = _mm256_unpacklo_epi32(rows[i], rows[i + 1]);
      pairs[i + 1] = _mm256_unpackhi_epi32(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
      quads[i] = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]);
      quads[i + 1] = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
      quads[i + 2] = _mm256_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
      quads[i + 3] = _mm256_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    for (int i = 0; i < 4; ++i) {
      out[i] = _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x20);
      out[i + 4] = _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x31);
    }
  }

  static constexpr size_t kParts = 2;
  template <typename At>
  static void LoadPart(size_t half, At at, Reg* m) {
    Reg rows[8];
    for (size_t j = 0; j < 8; ++j) rows[j] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at(j) + 32 * half));
    Transpose8(rows, m + 8 * half);
  }
  static void StoreChains(const Reg* h, uint8_t* out) {
    Reg rows[8];
    Transpose8(h, rows);
    for (int j = 0; j < 8; ++j) _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 32 * j), rows[j]);
  }
};

}  // namespace
}  // namespace coffer
