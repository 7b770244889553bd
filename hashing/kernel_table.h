// SPDX-License-Identifier: Apache-2.0
// The kernels by name, for the dispatcher and for the kernel files that define them.
#pragma once

#include "hashing/kernel.h"

namespace coffer {

// One lane, for kernels that have nothing better. Contracts as Kernel::absorb and Kernel::compress.
void AbsorbPortable(uint32_t* chain, const uint8_t* blocks, size_t count, uint32_t block_bytes, uint64_t counter,
                    uint8_t flags, uint8_t first_flags);
void CompressPortable(const uint32_t* chain, const uint8_t* block, uint32_t block_bytes, uint64_t counter,
                      uint8_t flags, uint8_t* out);
#if defined(__x86_64__)
void AbsorbX64(uint32_t* chain, const uint8_t* blocks, size_t count, uint32_t block_bytes, uint64_t counter,
               uint8_t flags, uint8_t first_flags);

// 2 to 5 whole chunks that lie one after the other, on a CPU with AVX-512F and VL. Contract as
// Kernel::hash_chunks.
void HashFiveChunksAvx512(const uint8_t* bytes, size_t count, const uint32_t* key, uint64_t counter, uint8_t flags,
                          uint8_t* out);
#endif

extern const Kernel kPortableKernel;
#if defined(__x86_64__)
extern const Kernel kSse41Kernel;
extern const Kernel kAvx2Kernel;
extern const Kernel kAvx512Kernel;
#elif defined(__aarch64__)
extern const Kernel kNeonKernel;
#endif

}  // namespace coffer
