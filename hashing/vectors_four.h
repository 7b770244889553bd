// SPDX-License-Identifier: Apache-2.0
// What vectors of four lanes share whatever the instruction set, for kernel_lanes.h. `Words` gives the register
// type, its arithmetic and
//   LoadBytes, StoreBytes            16 bytes, no alignment needed
//   ZipLow32(a, b), ZipHigh32(a, b)  a0 b0 a1 b1, a2 b2 a3 b3
//   ZipLow64(a, b), ZipHigh64(a, b)  the lower halves of a and b, the upper halves
#pragma once

#include <cstddef>
#include <cstdint>

#include "hashing/kernel_lanes.h"

namespace coffer {
namespace {

template <typename Words>
struct FourLanesOf : Words, CopiedTail {
  using Reg = typename Words::Reg;
  static constexpr size_t kWidth = 4;

  static void Transpose4(Reg a, Reg b, Reg c, Reg d, Reg* out) {
    const Reg ab_low = Words::ZipLow32(a, b);
    const Reg ab_high = Words::ZipHigh32(a, b);
    const Reg cd_low = Words::ZipLow32(c, d);
    const Reg cd_high = Words::ZipHigh32(c, d);
    out[0] = Words::ZipLow64(ab_low, cd_low);
    out[1] = Words::ZipHigh64(ab_low, cd_low);
    out[2] = Words::ZipLow64(ab_high, cd_high);
    out[3] = Words::ZipHigh64(ab_high, cd_high);
  }

  static constexpr size_t kParts = 4;
  template <typename At>
  static void LoadPart(size_t i, At at, Reg* m) {
    Transpose4(Words::LoadBytes(at(0) + 16 * i), Words::LoadBytes(at(1) + 16 * i), Words::LoadBytes(at(2) + 16 * i),
               Words::LoadBytes(at(3) + 16 * i), m + 4 * i);
  }

  static void StoreChains(const Reg* h, uint8_t* out) {
    Reg low[4];
    Reg high[4];
    Transpose4(h[0], h[1], h[2], h[3], low);
    Transpose4(h[4], h[5], h[6], h[7], high);
    for (int j = 0; j < 4; ++j) {
      Words::StoreBytes(out + 32 * j, low[j]);
      Words::StoreBytes(out + 32 * j + 16, high[j]);
    }
  }
};

}  // namespace
}  // namespace coffer
