// SPDX-License-Identifier: Apache-2.0
// The seam between the tree and the instruction sets: one table of functions per instruction set, the best
// one that the CPU has chosen once at run time. Files that implement a kernel include this header and nothing
// of the library or of Abseil, because code compiled for a newer CPU must not leak into shared inline
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coffer {

// Domain flags of a compression (BLAKE3 paper 2.2, table 3).
inline constexpr uint8_t kFlagChunkStart = 1 << 0;
inline constexpr uint8_t kFlagChunkEnd = 1 << 1;
inline constexpr uint8_t kFlagParent = 1 << 2;
inline constexpr uint8_t kFlagRoot = 1 << 3;
inline constexpr uint8_t kFlagKeyedHash = 1 << 4;
inline constexpr uint8_t kFlagDeriveKeyContext = 1 << 5;
inline constexpr uint8_t kFlagDeriveKeyMaterial = 1 << 6;

// The key words of plain hashing, and four of the words of every compression (BLAKE3 paper 2.2, table 1).
inline constexpr uint32_t kInitialWords[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                              0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};

// What one SIMD lane hashes: a chunk of 0 to 1024 bytes, or a parent node of 64 bytes. Each lane has its own
// length, flags and counter, so one pass mixes whole chunks, last chunks and parents of different blobs.
struct LaneInput {
  const uint8_t* bytes;  // size_bytes of them, no alignment needed
  uint8_t* out;          // 32 bytes, outside the bytes of every input of the same call
  const uint32_t* key;   // 8 words
  uint64_t counter;      // the chunk's index; 0 for a parent
  uint32_t size_bytes;   // at most 1024
  uint8_t flags;         // of every block
  uint8_t first_flags;   // added for the first block
  uint8_t last_flags;    // added for the last block
};

// One instruction set's implementation. All functions are pure and safe to call from any thread.
struct Kernel {
  const char* name;
  // Whether this CPU and operating system can run it.
  bool (*supported)();
  // Hashes `count` independent inputs, in any order.
  void (*hash_lanes)(const LaneInput* inputs, size_t count);
  // Hashes a run of chunks that lie one after the other, the last one possibly partial: `size_bytes` > 0
  // bytes, one 32-byte chaining value per chunk into `out`. `flags` are added to every block.
  void (*hash_chunks)(const uint8_t* bytes, size_t size_bytes, const uint32_t* key, uint64_t counter, uint8_t flags,
                      uint8_t* out);
  // Hashes `count` parent nodes of 64 bytes that lie one after the other into 32-byte chaining values. `out`
  // may be `nodes`. `flags` must include kFlagParent.
  void (*hash_parents)(const uint8_t* nodes, size_t count, const uint32_t* key, uint8_t flags, uint8_t* out);
  // Compresses `count` blocks of 64 bytes into `chain` (8 words, in and out), one lane. `block_bytes` is 64,
  // or what counts of a single block that the caller has zero-padded. `first_flags` are added for the first
  // block.
  void (*absorb)(uint32_t* chain, const uint8_t* blocks, size_t count, uint32_t block_bytes, uint64_t counter,
                 uint8_t flags, uint8_t first_flags);
  // One compression with the whole 64-byte output (BLAKE3 paper 2.6). `block` is 64 bytes, zero-padded by the
  // caller.
  void (*compress)(const uint32_t* chain, const uint8_t* block, uint32_t block_bytes, uint64_t counter, uint8_t flags,
                   uint8_t* out);
};

// The kernels that this program was built with, fastest first, ending with the portable one, which every CPU
// runs.
struct KernelList {
  const Kernel* const* begin_;
  const Kernel* const* end_;
  const Kernel* const* begin() const { return begin_; }
  const Kernel* const* end() const { return end_; }
};
KernelList AllKernels();

// The kernel in use. Chosen at the first call: the one that the environment variable COFFER_KERNEL names (the
// program ends with a message that lists the choices if there is no such kernel or the CPU lacks it), else
// the fastest.
const Kernel& ActiveKernel();

// Its name, for logs and status reports: "portable", "sse41", "avx2", "avx512", "neon".
std::string_view ActiveKernelName();

// For tests and benches: use `kernel`, which the CPU supports, from now on. Not to be called while others
// hash.
void SetActiveKernel(const Kernel& kernel);

}  // namespace coffer
