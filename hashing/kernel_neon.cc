// SPDX-License-Identifier: Apache-2.0
// The NEON kernel of 64-bit ARM: four lanes. One set of them: 16 state words and 16 message words are exactly its
// 32 registers.
#include <arm_neon.h>

#include "hashing/kernel_lanes.h"
#include "hashing/vectors_four.h"

namespace coffer {
namespace {

struct NeonWords {
  using Reg = uint32x4_t;

  static Reg Set1(uint32_t word) { return vdupq_n_u32(word); }
  static Reg Load(const uint32_t* words) { return vld1q_u32(words); }
  static void Store(uint32_t* words, Reg r) { vst1q_u32(words, r); }
  static Reg Add(Reg a, Reg b) { return vaddq_u32(a, b); }
  static Reg Xor(Reg a, Reg b) { return veorq_u32(a, b); }
  // Additions take no operand from memory here.
  static void AddFromMemory(Reg& a, const Reg& m) { a = vaddq_u32(a, m); }
  static Reg Ror16(Reg a) { return vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(a))); }
  static Reg Ror12(Reg a) { return vsriq_n_u32(vshlq_n_u32(a, 20), a, 12); }
  static Reg Ror8(Reg a) {
    alignas(16) static constexpr uint8_t kOrder[16] = {1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12};
    return vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32(a), vld1q_u8(kOrder)));
  }
  static Reg Ror7(Reg a) { return vsriq_n_u32(vshlq_n_u32(a, 25), a, 7); }

  static Reg LoadBytes(const uint8_t* at) { return vreinterpretq_u32_u8(vld1q_u8(at)); }
  static void StoreBytes(uint8_t* at, Reg r) { vst1q_u8(at, vreinterpretq_u8_u32(r)); }
  static Reg ZipLow32(Reg a, Reg b) { return vzip1q_u32(a, b); }
  static Reg ZipHigh32(Reg a, Reg b) { return vzip2q_u32(a, b); }
  static Reg ZipLow64(Reg a, Reg b) {
    return vreinterpretq_u32_u64(vzip1q_u64(vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b)));
  }
  static Reg ZipHigh64(Reg a, Reg b) {
    return vreinterpretq_u32_u64(vzip2q_u64(vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b)));
  }
};

// Every 64-bit ARM has it.
bool Supported() { return true; }
using Kernels = LaneKernel<Lanes<FourLanesOf<NeonWords>, 1>, OneLane<2, 2, AbsorbPortable>>;

}  // namespace

extern const Kernel kNeonKernel = {
    "neon", Supported, Kernels::HashLanes, Kernels::HashChunks, Kernels::HashParents, AbsorbPortable, CompressPortable,
};

}  // namespace coffer
