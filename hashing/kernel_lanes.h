// SPDX-License-Identifier: Apache-2.0
// BLAKE3 over many inputs at once, one per SIMD lane, written once for all vector widths. A kernel file
// describes its vectors by a struct V (register type, arithmetic, transposition) and instantiates Lanes<V,
// sets>; everything here has internal linkage, so that each kernel file keeps its own copy, compiled for its
// own instruction set.
//
// A state word of all lanes is one register ("transposed"): word i of lane j is element j of register i. A
// pass may run several sets of such registers side by side: one set alone waits most of the time for the
// previous instruction, and two sets of 16 state words are exactly AVX-512's 32 registers. That works because
// the message words stay in memory, as operands of the additions, and nothing else needs a register. V gives
//   Reg, kWidth                      the register type and its number of 32-bit lanes
//   Set1, Load, Store                broadcast a word; load and store kWidth words
//   Add, Xor, Ror16, Ror12, Ror8, Ror7
//   AddFromMemory(a, m)              a += m, with m as a memory operand whatever the compiler would like better
//   kParts, LoadPart(i, at, m)       the parts of 64 bytes from each of at(0..kWidth); the i-th of them into its
//                                    share of 16 transposed registers
//   StoreChains(h, out)              8 transposed registers as kWidth runs of 32 bytes
//   LoadTail(bytes, size, out)       fewer than 64 bytes, zero-padded to 64
#pragma once

#include <cstring>

#include "hashing/kernel.h"
#include "hashing/kernel_table.h"

#define COFFER_ALWAYS __attribute__((always_inline))
#define COFFER_INLINE inline COFFER_ALWAYS

namespace coffer {
namespace {

constexpr size_t kBlockBytes = 64;
constexpr size_t kChainBytes = 32;
constexpr size_t kInputBytes = 1024;
constexpr int kInputBlocks = 16;
// A run of chunks this long is taken to be part of something that no near cache holds.
constexpr size_t kFarBytes = 256 << 10;

// The message permutation of BLAKE3 (paper 2.2, table 2), applied 0 to 6 times.
constexpr int kSchedule[7][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
    {3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1}, {10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
    {12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4}, {9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
    {11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13},
};

// LoadTail for vectors without masked loads.
struct CopiedTail {
  static COFFER_INLINE void LoadTail(const uint8_t* bytes, size_t size, uint8_t* out) {
    std::memset(out, 0, kBlockBytes);
    if (size > 0) std::memcpy(out, bytes, size);
  }
};

template <typename V, size_t kSets>
struct Lanes {
  using Reg = typename V::Reg;
  static constexpr size_t kWidth = V::kWidth;
  static constexpr size_t kLanes = kSets * kWidth;
  static constexpr size_t kParents = kLanes;
  // Blocks left of a lane that has no input: more than any input has.
  static constexpr uint32_t kIdle = 1000;

  // Everything one compression takes, lane j of set s at [s]...[j]. The chains are also what it leaves.
  struct alignas(64) Pass {
    Reg message[kSets][16];
    uint32_t chain[kSets][8][kWidth];
    uint32_t counter_low[kSets][kWidth];
    uint32_t counter_high[kSets][kWidth];
    uint32_t block_bytes[kSets][kWidth];
    uint32_t flags[kSets][kWidth];
  };

  // Four quarter rounds of every set side by side (BLAKE3 paper 2.2), on columns or, with kShift 1, on
  // diagonals.
  template <int kRound, int kShift>
  static COFFER_INLINE void Mix(Reg (*v)[16], const Reg (*message)[16]) {
    constexpr const int* order = kSchedule[kRound] + 8 * kShift;
#define COFFER_EACH                  \
  for (size_t s = 0; s < kSets; ++s) \
    for (int i = 0; i < 4; ++i)
#define A v[s][i]
#define B v[s][4 + (i + kShift) % 4]
#define C v[s][8 + (i + 2 * kShift) % 4]
#define D v[s][12 + (i + 3 * kShift) % 4]
    COFFER_EACH V::AddFromMemory(A, message[s][order[2 * i]]);
    COFFER_EACH A = V::Add(A, B);
    COFFER_EACH D = V::Xor(D, A);
    COFFER_EACH D = V::Ror16(D);
    COFFER_EACH C = V::Add(C, D);
    COFFER_EACH B = V::Xor(B, C);
    COFFER_EACH B = V::Ror12(B);
    COFFER_EACH V::AddFromMemory(A, message[s][order[2 * i + 1]]);
    COFFER_EACH A = V::Add(A, B);
    COFFER_EACH D = V::Xor(D, A);
    COFFER_EACH D = V::Ror8(D);
    COFFER_EACH C = V::Add(C, D);
    COFFER_EACH B = V::Xor(B, C);
    COFFER_EACH B = V::Ror7(B);
#undef A
#undef B
#undef C
#undef D
#undef COFFER_EACH
  }

  template <int kRound>
  static COFFER_INLINE void Round(Reg (*v)[16], const Reg (*message)[16]) {
    Mix<kRound, 0>(v, message);
    Mix<kRound, 1>(v, message);
  }

  // All seven rounds. `between(i)` runs after round i, for work that fills the gaps which the rounds' latency
  // leaves.
  template <typename Between>
  static COFFER_INLINE void Rounds(Reg (*v)[16], const Reg (*message)[16], Between between) {
    Round<0>(v, message);
    between(0);
    Round<1>(v, message);
    between(1);
    Round<2>(v, message);
    between(2);
    Round<3>(v, message);
    between(3);
    Round<4>(v, message);
    between(4);
    Round<5>(v, message);
    between(5);
    Round<6>(v, message);
  }

  static __attribute__((noinline)) void Compress(Pass& pass) {
    Reg v[kSets][16];
    for (size_t s = 0; s < kSets; ++s) {
      for (int i = 0; i < 8; ++i) v[s][i] = V::Load(pass.chain[s][i]);
      for (int i = 0; i < 4; ++i) v[s][8 + i] = V::Set1(kInitialWords[i]);
      v[s][12] = V::Load(pass.counter_low[s]);
      v[s][13] = V::Load(pass.counter_high[s]);
      v[s][14] = V::Load(pass.block_bytes[s]);
      v[s][15] = V::Load(pass.flags[s]);
    }
    Rounds(v, pass.message, [](int) {});
    for (size_t s = 0; s < kSets; ++s) {
      for (int i = 0; i < 8; ++i) V::Store(pass.chain[s][i], V::Xor(v[s][i], v[s][i + 8]));
    }
  }

  template <typename At>
  static COFFER_INLINE void LoadBlocks(At at, Reg* message) {
    for (size_t part = 0; part < V::kParts; ++part) V::LoadPart(part, at, message);
  }

  static COFFER_INLINE void SetChains(Pass& pass, const uint32_t* key) {
    for (size_t s = 0; s < kSets; ++s) {
      for (int i = 0; i < 8; ++i) V::Store(pass.chain[s][i], V::Set1(key[i]));
    }
  }

  static COFFER_INLINE void SetAll(uint32_t (*words)[kWidth], uint32_t word) {
    for (size_t s = 0; s < kSets; ++s) V::Store(words[s], V::Set1(word));
  }

  static COFFER_INLINE void StoreChains(const Pass& pass, uint8_t* out) {
    for (size_t s = 0; s < kSets; ++s) {
      Reg h[8];
      for (int i = 0; i < 8; ++i) h[i] = V::Load(pass.chain[s][i]);
      V::StoreChains(h, out + s * kWidth * kChainBytes);
    }
  }

  // kLanes whole chunks, one after the other, in one pass without any branch on lengths. The next block is
  // loaded and transposed, a part at a time, between the rounds of this one.
  // `more` says that another pass follows, kFar that the bytes are not expected in a near cache: no hardware
  // prefetcher follows a stream per lane.
  template <bool kFar>
  static void HashWholeChunks(const uint8_t* bytes, bool more, const uint32_t* key, uint64_t counter, uint8_t flags,
                              uint8_t* out) {
    constexpr int kAheadBlocks = 4;
    const size_t ahead_of_last_blocks = more ? kLanes * kInputBytes - (kInputBlocks - kAheadBlocks) * kBlockBytes : 0;
    alignas(64) Reg messages[2][kSets][16];
    alignas(64) uint32_t counter_low[kLanes];
    alignas(64) uint32_t counter_high[kLanes];
    for (size_t j = 0; j < kLanes; ++j) {
      counter_low[j] = static_cast<uint32_t>(counter + j);
      counter_high[j] = static_cast<uint32_t>((counter + j) >> 32);
    }
    const auto load_part = [](const uint8_t* block, size_t part, Reg(*message)[16]) COFFER_ALWAYS {
      const size_t s = part / V::kParts;
      if (s >= kSets) return;
      const uint8_t* const set = block + s * kWidth * kInputBytes;
      V::LoadPart(
          part % V::kParts, [set](size_t j) COFFER_ALWAYS { return set + j * kInputBytes; }, message[s]);
    };
    for (size_t part = 0; part < kSets * V::kParts; ++part) load_part(bytes, part, messages[0]);
    Reg v[kSets][16];
    for (size_t s = 0; s < kSets; ++s) {
      for (int i = 0; i < 8; ++i) v[s][i] = V::Set1(key[i]);
    }
    Reg(*message)[16] = messages[0];
    Reg(*next_message)[16] = messages[1];
    uint32_t block_flags = flags | kFlagChunkStart;
    for (int left = kInputBlocks; left > 0; --left) {
      // The loop's body fills a third of the instruction cache already: it must not be unrolled.
      asm volatile("" : "+r"(left));
      for (size_t s = 0; s < kSets; ++s) {
        for (int i = 0; i < 4; ++i) v[s][8 + i] = V::Set1(kInitialWords[i]);
        v[s][12] = V::Load(counter_low + s * kWidth);
        v[s][13] = V::Load(counter_high + s * kWidth);
        v[s][14] = V::Set1(kBlockBytes);
        v[s][15] = V::Set1(block_flags);
      }
      // Behind the last block there is nothing to load; it loads itself once more.
      bytes += left > 1 ? kBlockBytes : 0;
      // Near the end of the chunks, what lies ahead is the beginning of the next pass.
      const uint8_t* const ahead = bytes + (left > kAheadBlocks ? kAheadBlocks * kBlockBytes : ahead_of_last_blocks);
      Rounds(v, message, [&](int i) COFFER_ALWAYS {
        load_part(bytes, static_cast<size_t>(i), next_message);
        if constexpr (!kFar) return;
        constexpr size_t kEach = (kLanes + 5) / 6;
        for (size_t j = 0; j < kEach; ++j)
          __builtin_prefetch(ahead + (static_cast<size_t>(i) * kEach + j) * kInputBytes);
      });
      for (size_t s = 0; s < kSets; ++s) {
        for (int i = 0; i < 8; ++i) v[s][i] = V::Xor(v[s][i], v[s][i + 8]);
      }
      block_flags = flags | (left == 2 ? kFlagChunkEnd : 0);
      Reg(*const done)[16] = message;
      message = next_message;
      next_message = done;
    }
    for (size_t s = 0; s < kSets; ++s) V::StoreChains(v[s], out + s * kWidth * kChainBytes);
  }

  // 1 to kLanes parent nodes that lie one after the other.
  static void HashFewParents(const uint8_t* nodes, size_t count, const uint32_t* key, uint8_t flags, uint8_t* out) {
    Pass pass;
    SetChains(pass, key);
    SetAll(pass.counter_low, 0);
    SetAll(pass.counter_high, 0);
    SetAll(pass.block_bytes, kBlockBytes);
    SetAll(pass.flags, flags);
    if (count == kLanes) {
      for (size_t s = 0; s < kSets; ++s) {
        const uint8_t* const set = nodes + s * kWidth * kBlockBytes;
        LoadBlocks([set](size_t j) { return set + j * kBlockBytes; }, pass.message[s]);
      }
      Compress(pass);
      StoreChains(pass, out);
      return;
    }
    for (size_t s = 0; s < kSets; ++s) {
      // Lanes without a node repeat the first one.
      const auto at = [=](size_t j) { return nodes + (s * kWidth + j < count ? s * kWidth + j : 0) * kBlockBytes; };
      LoadBlocks(at, pass.message[s]);
    }
    Compress(pass);
    alignas(64) uint8_t chains[kLanes * kChainBytes];
    StoreChains(pass, chains);
    std::memcpy(out, chains, count * kChainBytes);
  }

  // The lanes of HashInputs, each with its own input. Plain arrays over lanes, which the compiler turns into
  // vectors.
  struct alignas(64) Queue {
    Pass pass;
    const uint8_t* at[kLanes];     // the next block
    uint64_t stride[kLanes];       // from one block to the next; 0 without an input
    uint32_t blocks_left[kLanes];  // kIdle without an input
    uint32_t tail_bytes[kLanes];   // of the last block
    uint32_t base_flags[kLanes];
    uint32_t first_flags[kLanes];  // 0 behind the first block
    uint32_t last_flags[kLanes];
    uint32_t fresh[kLanes];  // all ones until the key is in the lane's chain
    const LaneInput* input[kLanes];
    uint8_t tails[kLanes][kBlockBytes];
    uint8_t chains[kLanes * kChainBytes];
    const LaneInput* next;
    const LaneInput* end;
    size_t active = 0;

    uint32_t* Flat(uint32_t (*words)[kWidth]) { return &words[0][0]; }

    // Gives lane j the next input, or nothing to do.
    COFFER_INLINE void Start(size_t j) {
      alignas(64) static constexpr uint8_t kZeros[kBlockBytes] = {};
      if (next == end) {
        input[j] = nullptr;
        at[j] = kZeros;
        stride[j] = 0;
        blocks_left[j] = kIdle;
        base_flags[j] = first_flags[j] = last_flags[j] = 0;
        return;
      }
      const LaneInput& in = *next++;
      ++active;
      input[j] = &in;
      at[j] = in.bytes;
      stride[j] = kBlockBytes;
      const uint32_t whole = in.size_bytes == 0 ? 0 : (in.size_bytes - 1) / kBlockBytes;
      blocks_left[j] = whole + 1;
      tail_bytes[j] = in.size_bytes - whole * kBlockBytes;
      Flat(pass.counter_low)[j] = static_cast<uint32_t>(in.counter);
      Flat(pass.counter_high)[j] = static_cast<uint32_t>(in.counter >> 32);
      base_flags[j] = in.flags;
      first_flags[j] = in.first_flags;
      last_flags[j] = in.last_flags;
      fresh[j] = ~uint32_t{0};
    }

    // Puts the keys into the chains of lanes that have just started.
    COFFER_INLINE void TakeKeys(const uint32_t* shared_key) {
      for (size_t s = 0; s < kSets; ++s) {
        for (int i = 0; i < 8; ++i) {
          for (size_t j = 0; j < kWidth; ++j) {
            const uint32_t old = pass.chain[s][i][j];
            pass.chain[s][i][j] = fresh[s * kWidth + j] ? shared_key[i] : old;
          }
        }
      }
      for (size_t j = 0; j < kLanes; ++j) fresh[j] = 0;
    }
    void TakeOwnKeys() {
      for (size_t j = 0; j < kLanes; ++j) {
        if (!fresh[j]) continue;
        for (int i = 0; i < 8; ++i) pass.chain[j / kWidth][i][j % kWidth] = input[j]->key[i];
        fresh[j] = 0;
      }
    }

    COFFER_INLINE void CompressNext() {
      for (size_t s = 0; s < kSets; ++s) {
        const uint8_t* const* const set = at + s * kWidth;
        LoadBlocks([set](size_t j) { return set[j]; }, pass.message[s]);
      }
      Compress(pass);
      for (size_t j = 0; j < kLanes; ++j) at[j] += stride[j];
    }

    // `steps` blocks that are nobody's last.
    COFFER_INLINE void RunWhole(uint32_t steps) {
      SetAll(pass.block_bytes, kBlockBytes);
      for (size_t j = 0; j < kLanes; ++j) Flat(pass.flags)[j] = base_flags[j] | first_flags[j];
      for (uint32_t step = 0; step < steps; ++step) {
        CompressNext();
        if (step > 0) continue;
        for (size_t j = 0; j < kLanes; ++j) {
          Flat(pass.flags)[j] = base_flags[j];
          first_flags[j] = 0;
        }
      }
    }

    // The block that is the last one of each lane with `steps` blocks left, and the next input into those
    // lanes.
    COFFER_INLINE void RunLast(uint32_t steps) {
      for (size_t j = 0; j < kLanes; ++j) {
        const bool ends = blocks_left[j] == steps;
        Flat(pass.block_bytes)[j] = ends ? tail_bytes[j] : kBlockBytes;
        Flat(pass.flags)[j] = base_flags[j] | first_flags[j] | (ends ? last_flags[j] : 0);
        first_flags[j] = 0;
      }
      for (size_t j = 0; j < kLanes; ++j) {
        if (blocks_left[j] != steps || tail_bytes[j] == kBlockBytes) continue;
        V::LoadTail(at[j], tail_bytes[j], tails[j]);
        at[j] = tails[j];
      }
      CompressNext();
      StoreChains(pass, chains);
      for (size_t j = 0; j < kLanes; ++j) {
        if (blocks_left[j] == steps) {
          std::memcpy(input[j]->out, chains + j * kChainBytes, kChainBytes);
          --active;
          Start(j);
        } else if (blocks_left[j] != kIdle) {
          blocks_left[j] -= steps;
        }
      }
    }
  };

  // Any number of inputs of any lengths: a lane that ends takes the next input.
  static void HashInputs(const LaneInput* inputs, size_t count) {
    Queue queue;
    SetAll(queue.pass.counter_low, 0);
    SetAll(queue.pass.counter_high, 0);
    for (size_t j = 0; j < kLanes; ++j) queue.tail_bytes[j] = queue.fresh[j] = 0;
    SetChains(queue.pass, kInitialWords);
    queue.next = inputs;
    queue.end = inputs + count;
    bool shared_key = true;
    for (size_t i = 1; i < count; ++i) shared_key &= inputs[i].key == inputs[0].key;
    for (size_t j = 0; j < kLanes; ++j) queue.Start(j);
    while (queue.active > 0) {
      if (shared_key) {
        queue.TakeKeys(inputs[0].key);
      } else {
        queue.TakeOwnKeys();
      }
      uint32_t steps = kIdle;
      for (size_t j = 0; j < kLanes; ++j) steps = queue.blocks_left[j] < steps ? queue.blocks_left[j] : steps;
      if (steps > 1) queue.RunWhole(steps - 1);
      queue.RunLast(steps);
    }
  }
};

// What ends the list of widths: one lane at a time (Absorb is as Kernel::absorb), worth it for up to kMost inputs
// and kMostParents parents.
template <size_t kMost, size_t kMostParents, decltype(Kernel::absorb) Absorb>
struct OneLane {
  static constexpr size_t kLanes = kMost;
  static constexpr size_t kParents = kMostParents;

  static void HashOne(const LaneInput& in) {
    alignas(32) uint32_t chain[8];
    std::memcpy(chain, in.key, sizeof(chain));
    const size_t whole = in.size_bytes == 0 ? 0 : (in.size_bytes - 1) / kBlockBytes;
    uint8_t first_flags = in.first_flags;
    if (whole > 0) {
      Absorb(chain, in.bytes, whole, kBlockBytes, in.counter, in.flags, first_flags);
      first_flags = 0;
    }
    const uint32_t tail_bytes = static_cast<uint32_t>(in.size_bytes - whole * kBlockBytes);
    const uint8_t* tail = in.bytes + whole * kBlockBytes;
    alignas(64) uint8_t padded[kBlockBytes];
    if (tail_bytes < kBlockBytes) {
      CopiedTail::LoadTail(tail, tail_bytes, padded);
      tail = padded;
    }
    Absorb(chain, tail, 1, tail_bytes, in.counter, in.flags | in.last_flags, first_flags);
    std::memcpy(in.out, chain, sizeof(chain));
  }
  static void HashInputs(const LaneInput* inputs, size_t count) {
    for (size_t i = 0; i < count; ++i) HashOne(inputs[i]);
  }
  template <bool kFar>
  static void HashWholeChunks(const uint8_t* bytes, bool, const uint32_t* key, uint64_t counter, uint8_t flags,
                              uint8_t* out) {
    for (size_t i = 0; i < kLanes; ++i) {
      HashOne({bytes + i * kInputBytes, out + i * kChainBytes, key, counter + i, kInputBytes, flags, kFlagChunkStart,
               kFlagChunkEnd});
    }
  }
  static void HashFewParents(const uint8_t* nodes, size_t count, const uint32_t* key, uint8_t flags, uint8_t* out) {
    for (size_t i = 0; i < count; ++i) {
      HashOne({nodes + i * kBlockBytes, out + i * kChainBytes, key, 0, kBlockBytes, flags, 0, 0});
    }
  }
};

// The functions of a kernel whose passes are of the given kinds, widest first: work is done in the widest
// pass that it fills, and what is left over in the narrowest that holds it.
template <typename Widest, typename... Narrower>
struct LaneKernel {
  static constexpr size_t kLanes = Widest::kLanes;
  static constexpr size_t kParents = Widest::kParents;

  static constexpr bool FitsNarrower(size_t count) {
    if constexpr (sizeof...(Narrower) > 0) {
      return count <= LaneKernel<Narrower...>::kLanes;
    } else {
      return false;
    }
  }

  static void HashLanes(const LaneInput* inputs, size_t count) {
    if constexpr (sizeof...(Narrower) > 0) {
      if (FitsNarrower(count)) return LaneKernel<Narrower...>::HashLanes(inputs, count);
    }
    if (count > 0) Widest::HashInputs(inputs, count);
  }

  static void HashChunks(const uint8_t* bytes, size_t size_bytes, const uint32_t* key, uint64_t counter, uint8_t flags,
                         uint8_t* out) {
    constexpr size_t kPassBytes = kLanes * kInputBytes;
    const bool far = size_bytes >= kFarBytes;
    for (; size_bytes >= kPassBytes; size_bytes -= kPassBytes) {
      const bool more = size_bytes >= 2 * kPassBytes;
      if (far) {
        Widest::template HashWholeChunks<true>(bytes, more, key, counter, flags, out);
      } else {
        Widest::template HashWholeChunks<false>(bytes, more, key, counter, flags, out);
      }
      bytes += kPassBytes;
      counter += kLanes;
      out += kLanes * kChainBytes;
    }
    if (size_bytes == 0) return;
    if constexpr (sizeof...(Narrower) > 0) {
      if (FitsNarrower((size_bytes + kInputBytes - 1) / kInputBytes)) {
        return LaneKernel<Narrower...>::HashChunks(bytes, size_bytes, key, counter, flags, out);
      }
    }
    LaneInput inputs[kLanes];
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
    Widest::HashInputs(inputs, count);
  }

  static void HashParents(const uint8_t* nodes, size_t count, const uint32_t* key, uint8_t flags, uint8_t* out) {
    for (; count >= kParents; count -= kParents) {
      Widest::HashFewParents(nodes, kParents, key, flags, out);
      nodes += kParents * kBlockBytes;
      out += kParents * kChainBytes;
    }
    if (count == 0) return;
    if constexpr (sizeof...(Narrower) > 0) {
      if (count <= LaneKernel<Narrower...>::kParents)
        return LaneKernel<Narrower...>::HashParents(nodes, count, key, flags, out);
    }
    Widest::HashFewParents(nodes, count, key, flags, out);
  }
};

}  // namespace
}  // namespace coffer
