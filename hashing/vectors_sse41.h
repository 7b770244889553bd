// SPDX-License-Identifier: Apache-2.0
// Vectors of four lanes for kernel_lanes.h.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace coffer {
namespace {

struct FourLanes {
  using Reg = __m128i;
  static constexpr size_t kWidth = 4;

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

  static void Transpose4(Reg a, Reg b, Reg c, Reg d, Reg* out) {
    const Reg ab_low = _mm_unpacklo_epi32(a, b);
    const Reg ab_high = _mm_unpackhi_epi32(a, b);
    const Reg cd_low = _mm_unpacklo_epi32(c, d);
    const Reg cd_high = _mm_unpackhi_epi32(c, d);
    out[0] = _mm_unpacklo_epi64(ab_low, cd_low);
    out[1] = _mm_unpackhi_epi64(ab_low, cd_low);
    out[2] = _mm_unpacklo_epi64(ab_high, cd_high);
    out[3] = _mm_unpackhi_epi64(ab_high, cd_high);
  }
  static Reg LoadBytes(const uint8_t* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }
  static void StoreBytes(uint8_t* at, Reg r) { _mm_storeu_si128(reinterpret_cast<__m128i*>(at), r); }

  static constexpr size_t kParts = 4;
  template <typename At>
  static void LoadPart(size_t i, At at, Reg* m) {
    Transpose4(LoadBytes(at(0) + 16 * i), LoadBytes(at(1) + 16 * i), LoadBytes(at(2) + 16 * i),
               LoadBytes(at(3) + 16 * i), m + 4 * i);
  }
  static void LoadTail(const uint8_t* bytes, size_t size, uint8_t* out) {
    std::memset(out, 0, 64);
    if (size > 0) std::memcpy(out, bytes, size);
  }
  static void StoreChains(const Reg* h, uint8_t* out) {
    Reg low[4];
    Reg high[4];
    Transpose4(h[0], h[1], h[2], h[3], low);
    Transpose4(h[4], h[5], h[6], h[7], high);
    for (int j = 0; j < 4; ++j) {
      StoreBytes(out + 32 * j, low[j]);
      StoreBytes(out + 32 * j + 16, high[j]);
    }
  }
};

}  // namespace
}  // namespace coffer
