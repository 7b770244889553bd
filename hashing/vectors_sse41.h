// SPDX-License-Identifier: Apache-2.0
// Vectors of four lanes for kernel_lanes.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "hashing/vectors_four.h"

namespace coffer {
namespace {

struct SseWords {
  using Reg = __m128i;

  static Reg Set1(uint32_t word) { return _mm_set1_epi32(static_cast<int>(word)); }
  static Reg Load(const uint32_t* words) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(words)); }
  static void Store(uint32_t* words, Reg r) { _mm_storeu_si128(reinterpret_cast<__m128i*>(words), r); }
  static Reg Add(Reg a, Reg b) { return _mm_add_epi32(a, b); }
  static Reg Xor(Reg a, Reg b) { return _mm_xor_si128(a, b); }
#ifdef __AVX__
  static void AddFromMemory(Reg& a, const Reg& m) { asm("vpaddd %1, %0, %0" : "+x"(a) : "m"(m)); }
#else
  static void AddFromMemory(Reg& a, const Reg& m) { asm("paddd %1, %0" : "+x"(a) : "m"(m)); }
#endif
#ifdef __AVX512VL__
  static Reg Ror16(Reg a) { return _mm_ror_epi32(a, 16); }
  static Reg Ror12(Reg a) { return _mm_ror_epi32(a, 12); }
  static Reg Ror8(Reg a) { return _mm_ror_epi32(a, 8); }
  static Reg Ror7(Reg a) { return _mm_ror_epi32(a, 7); }
#else
  static Reg Ror16(Reg a) {
    return _mm_shuffle_epi8(a, _mm_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2));
  }
  static Reg Ror12(Reg a) { return _mm_or_si128(_mm_srli_epi32(a, 12), _mm_slli_epi32(a, 20)); }
  static Reg Ror8(Reg a) {
    return _mm_shuffle_epi8(a, _mm_set_epi8(12, 15, 14, 13, 8, 11, 10, 9, 4, 7, 6, 5, 0, 3, 2, 1));
  }
  static Reg Ror7(Reg a) { return _mm_or_si128(_mm_srli_epi32(a, 7), _mm_slli_epi32(a, 25)); }
#endif

  static Reg LoadBytes(const uint8_t* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }
  static void StoreBytes(uint8_t* at, Reg r) { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), r); }
  static Reg ZipLow32(Reg a, Reg b) { return _mm_unpacklo_epi32(a, b); }
  static Reg ZipHigh32(Reg a, Reg b) { return _mm_unpackhi_epi32(a, b); }
  static Reg ZipLow64(Reg a, Reg b) { return _mm_unpacklo_epi64(a, b); }
  static Reg ZipHigh64(Reg a, Reg b) { return _mm_unpackhi_epi64(a, b); }
};
using FourLanes = FourLanesOf<SseWords>;

}  // namespace
}  // namespace coffer
