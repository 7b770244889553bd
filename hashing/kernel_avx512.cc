// SPDX-License-Identifier: Apache-2.0
// The AVX-512 kernel: sixteen lanes, eight or four where there are no more inputs than that.
#include "hashing/kernel_lanes.h"
#include "hashing/vectors_avx2.h"
#include "hashing/vectors_sse41.h"

namespace coffer {
namespace {

struct SixteenLanes {
  using Reg = __m512i;
  static constexpr size_t kWidth = 16;

  static Reg Set1(uint32_t word) { return _mm512_set1_epi32(static_cast<int>(word)); }
  static Reg Load(const uint32_t* words) { return _mm512_loadu_si512(words); }
  static void Store(uint32_t* words, Reg r) { _mm512_storeu_si512(words, r); }
  static Reg Add(Reg a, Reg b) { return _mm512_add_epi32(a, b); }
  static Reg Xor(Reg a, Reg b) { return _mm512_xor_si512(a, b); }
  static void AddFromMemory(Reg& a, const Reg& m) { asm("vpaddd %1, %0, %0" : "+v"(a) : "m"(m)); }
  static Reg Ror16(Reg a) { return _mm512_ror_epi32(a, 16); }
  static Reg Ror12(Reg a) { return _mm512_ror_epi32(a, 12); }
  static Reg Ror8(Reg a) { return _mm512_ror_epi32(a, 8); }
  static Reg Ror7(Reg a) { return _mm512_ror_epi32(a, 7); }

  // Within each 128-bit quarter: four rows of four words become four words of four rows.
  static void TransposeQuarters(const Reg* rows, Reg* words) {
    const Reg ab_low = _mm512_unpacklo_epi32(rows[0], rows[1]);
    const Reg ab_high = _mm512_unpackhi_epi32(rows[0], rows[1]);
    const Reg cd_low = _mm512_unpacklo_epi32(rows[2], rows[3]);
    const Reg cd_high = _mm512_unpackhi_epi32(rows[2], rows[3]);
    words[0] = _mm512_unpacklo_epi64(ab_low, cd_low);
    words[1] = _mm512_unpackhi_epi64(ab_low, cd_low);
    words[2] = _mm512_unpacklo_epi64(ab_high, cd_high);
    words[3] = _mm512_unpackhi_epi64(ab_high, cd_high);
  }

  static __m256i Half(const uint8_t* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }

  // The 32-byte halves of lanes j and j + 4 are joined by an insert from memory, which saves a third of the
  // shuffles.
  static Reg Halves(const uint8_t* low, const uint8_t* high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(low))),
                              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(high)), 1);
  }
  static constexpr size_t kParts = 2;
  template <typename At>
  static void LoadPart(size_t half, At at, Reg* m) {
    Reg first[4];
    Reg second[4];
    Reg rows[4];
    for (size_t j = 0; j < 4; ++j) rows[j] = Halves(at(j) + 32 * half, at(j + 4) + 32 * half);
    TransposeQuarters(rows, first);
    for (size_t j = 0; j < 4; ++j) rows[j] = Halves(at(j + 8) + 32 * half, at(j + 12) + 32 * half);
    TransposeQuarters(rows, second);
    for (size_t i = 0; i < 4; ++i) {
      m[8 * half + i] = _mm512_shuffle_i32x4(first[i], second[i], 0x88);
      m[8 * half + i + 4] = _mm512_shuffle_i32x4(first[i], second[i], 0xDD);
    }
  }

  static void LoadTail(const uint8_t* bytes, size_t size, uint8_t* out) {
    const __mmask64 mask = (__mmask64{1} << size) - 1;
    _mm512_store_si512(out, _mm512_maskz_loadu_epi8(mask, bytes));
  }

  template <int Quarter>
  static void StoreQuarter(const Reg* low, const Reg* high, uint8_t* out) {
    for (int j = 0; j < 4; ++j) {
      uint8_t* const at = out + 32 * (4 * Quarter + j);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm512_extracti32x4_epi32(low[j], Quarter));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(at + 16), _mm512_extracti32x4_epi32(high[j], Quarter));
    }
  }

  static void StoreChains(const Reg* h, uint8_t* out) {
    Reg low[4];
    Reg high[4];
    TransposeQuarters(h, low);
    TransposeQuarters(h + 4, high);
    StoreQuarter<0>(low, high, out);
    StoreQuarter<1>(low, high, out);
    StoreQuarter<2>(low, high, out);
    StoreQuarter<3>(low, high, out);
  }
};

bool Supported() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
using Kernels = LaneKernel<Lanes<SixteenLanes, 2>, Lanes<SixteenLanes, 1>, Lanes<EightLanes, 1>, Lanes<FourLanes, 1>,
                           OneLane<2, 1, AbsorbX64>>;

void HashChunks(const uint8_t* bytes, size_t size_bytes, const uint32_t* key, uint64_t counter, uint8_t flags,
                uint8_t* out) {
  const size_t count = size_bytes / kInputBytes;
  if (size_bytes % kInputBytes == 0 && count >= 2 && count <= 5) {
    HashFiveChunksAvx512(bytes, count, key, counter, flags, out);
  } else {
    Kernels::HashChunks(bytes, size_bytes, key, counter, flags, out);
  }
}

}  // namespace

extern const Kernel kAvx512Kernel = {
    "avx512", Supported, Kernels::HashLanes, HashChunks, Kernels::HashParents, AbsorbX64, CompressPortable,
};

}  // namespace coffer
