// SPDX-License-Identifier: Apache-2.0
// Two to five whole chunks at once, for blobs of 2 to 5 KiB: one chunk in general registers, as in
// kernel_lane_x64.cc, and up to four in AVX-512 registers, row by row: each 128-bit quarter holds one chunk,
// a register one row of its state. Either alone would leave most of the CPU idle, because each instruction
// waits for the one before. Side by side they share it, and there is more to it: a vector instruction that
// arrives after its operands are ready takes one cycle on Zen 5, one that has to wait for them takes two. So
// the twelve instructions of a half round that depend on each other are spread evenly among the others, and
// no-operations fill the half round up to the number that the CPU takes in during twelve cycles. Once late, a
// chain stays late, so a fence lets every block start afresh. Measured on Zen 5, ns a block of all five
// chunks: 82 without fillers and fence, 67 with both.
//
// The rows: zmm0 a, zmm1 b, zmm2 c, zmm3 d. On diagonals a, c and d turn and b, which is needed first, stays.
// The message words stand in the order in which they are used: columns x and y, diagonals x and y turned as b
// stands.
#include <cstring>

#include "hashing/kernel.h"
#include "hashing/kernel_table.h"

namespace coffer {
namespace {

// The d rows of a block: counter, block bytes and flags for each vector chunk, and flags for the scalar one.
struct alignas(64) BlockRow {
  uint32_t d[16];
  uint32_t scalar_flags;
};
static_assert(sizeof(BlockRow) == 128);

// What the assembly reads and writes; offsets below.
struct alignas(64) FiveChunks {
  uint32_t row_a[16];  // chains of the vector chunks, in and out
  uint32_t row_b[16];
  BlockRow first;
  BlockRow middle;
  BlockRow last;
  const uint8_t* at[5];  // the next block of each chunk, the scalar one first
  const BlockRow* row;
  uint32_t chain[8];  // of the scalar chunk, in and out
  uint64_t counter;   // of the scalar chunk
};
static_assert(offsetof(FiveChunks, first) == 128);
static_assert(offsetof(FiveChunks, at) == 512);
static_assert(offsetof(FiveChunks, row) == 552);
static_assert(offsetof(FiveChunks, chain) == 560);
static_assert(offsetof(FiveChunks, counter) == 592);

}  // namespace
}  // namespace coffer

// Argument: rdi, the FiveChunks.
asm(R"(
.text
.intel_syntax noprefix
.p2align 6
.globl coffer_hash_five_avx512
.hidden coffer_hash_five_avx512
.type coffer_hash_five_avx512, @function

.set kFiveSlot8, 64
.set kFiveSlot11, 68
.set kFiveArgument, 72
.set kFiveLeft, 80
.set kFiveCounter, 88
.set kFiveFrame, 104

# Half a round. Scalar words as MIX4 of kernel_lane_x64.cc takes them; \vy and \next_x, the vectors' second message words
# and the first ones of the next half; how to turn the rows for it; six instructions that prepare later messages.
.macro HALF a0, b0, c0, d0, x0, y0, a1, b1, c1, d1, x1, y1, a2, b2, c2, d2, x2, y2, a3, b3, c3, d3, x3, y3, store, load, vy, next_x, turn_a, turn_c, turn_d, p0, p1, p2, p3, p4, p5
  vpaddd zmm0, zmm0, zmm1
  \p0
  nop
  add \a0, [rsp + 4*\x0]
  add \a1, [rsp + 4*\x1]
  nop
  add \a2, [rsp + 4*\x2]
  add \a3, [rsp + 4*\x3]
  nop
  add \a0, \b0
  vpxord zmm3, zmm3, zmm0
  nop
  \p1
  add \a1, \b1
  nop
  add \a2, \b2
  add \a3, \b3
  nop
  xor \d0, \a0
  nop
  xor \d1, \a1
  vprord zmm3, zmm3, 16
  nop
  \p2
  xor \d2, \a2
  nop
  xor \d3, \a3
  ror \d0, 16
  nop
  ror \d1, 16
  ror \d2, 16
  nop
  vpaddd zmm2, zmm2, zmm3
  \p3
  nop
  ror \d3, 16
  nop
  add \c0, \d0
  add \c1, \d1
  nop
  add \c2, \d2
  xor \b0, \c0
  nop
  vpxord zmm1, zmm1, zmm2
  vpaddd zmm0, zmm0, \vy
  nop
  xor \b1, \c1
  xor \b2, \c2
  nop
  ror \b0, 12
  ror \b1, 12
  nop
  ror \b2, 12
  nop
  vprord zmm1, zmm1, 12
  \p4
  nop
  add \a0, [rsp + 4*\y0]
  add \a1, [rsp + 4*\y1]
  nop
  add \a2, [rsp + 4*\y2]
  add \a0, \b0
  nop
  vpaddd zmm0, zmm0, zmm1
  \p5
  nop
  add \a1, \b1
  add \a2, \b2
  nop
  xor \d0, \a0
  xor \d1, \a1
  nop
  xor \d2, \a2
  nop
  vpxord zmm3, zmm3, zmm0
  vpshufd zmm0, zmm0, \turn_a
  nop
  ror \d0, 8
  ror \d1, 8
  nop
  ror \d2, 8
  add \c0, \d0
  nop
  add \c1, \d1
  vprord zmm3, zmm3, 8
  nop
  vpaddd zmm0, zmm0, \next_x
  add \c2, \d2
  nop
  xor \b0, \c0
  nop
  xor \b1, \c1
  xor \b2, \c2
  nop
  mov [rsp + \store], \c0
  vpaddd zmm2, zmm2, zmm3
  nop
  vpshufd zmm3, zmm3, \turn_d
  mov \c0, [rsp + \load]
  nop
  ror \b0, 7
  ror \b1, 7
  nop
  ror \b2, 7
  add \c3, \d3
  nop
  vpxord zmm1, zmm1, zmm2
  nop
  vpshufd zmm2, zmm2, \turn_c
  xor \b3, \c3
  nop
  ror \b3, 12
  add \a3, [rsp + 4*\y3]
  nop
  add \a3, \b3
  xor \d3, \a3
  nop
  vprord zmm1, zmm1, 7
  ror \d3, 8
  nop
  add \c3, \d3
  xor \b3, \c3
  nop
  ror \b3, 7
  nop
.endm

# A round on the messages m0-m3 (columns x, y, diagonals x, y), which prepares those of the next round in n0-n3.
.macro ROUND m0, m1, m2, m3, n0, n1, n2, n3, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15
  HALF eax, esi, r11d, r12d, \s0, \s1,  ebx, edi, r9d, r13d, \s2, \s3,  ecx, ebp, r10d, r14d, \s4, \s5,  edx, r8d, r11d, r15d, \s6, \s7, kFiveSlot8, kFiveSlot11, \m1, \m2, 0x93, 0x39, 0x4E, "vshufps zmm20, \m0, \m1, 0xD9", "vshufps zmm21, \m2, \m3, 0x32", "vpshufd \n0, zmm20, 0x78", "vshufps zmm21, \m0, zmm21, 0x83", "vshufps zmm22, \m1, \m2, 0x30", "vpshufd \n1, zmm21, 0xD8"
  HALF ebx, ebp, r11d, r12d, \s10, \s11,  eax, edi, r10d, r15d, \s8, \s9,  edx, esi, r9d, r14d, \s14, \s15,  ecx, r8d, r11d, r13d, \s12, \s13, kFiveSlot11, kFiveSlot8, \m3, \n0, 0x39, 0x93, 0x4E, "vshufps zmm22, zmm22, \m3, 0x48", "vshufps zmm23, \m3, \m1, 0x22", "vpshufd \n2, zmm22, 0xD2", "vshufps zmm23, zmm23, \m2, 0x18", "", "vpshufd \n3, zmm23, 0xD2"
.endm

coffer_hash_five_avx512:
.cfi_startproc
  push rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset rbx, 0
  push rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset rbp, 0
  push r12
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r12, 0
  push r13
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r13, 0
  push r14
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r14, 0
  push r15
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r15, 0
  sub rsp, kFiveFrame
  .cfi_adjust_cfa_offset kFiveFrame
  mov r10, rdi
  mov [rsp + kFiveArgument], rdi
  mov qword ptr [rsp + kFiveLeft], 16
  mov rax, [r10 + 592]
  mov [rsp + kFiveCounter], rax
  vmovdqa64 zmm0, [r10]
  vmovdqa64 zmm1, [r10 + 64]
  vbroadcasti32x4 zmm12, [rip + .Lcoffer_five_initial_words]
  mov eax, [r10 + 560]
  mov ebx, [r10 + 564]
  mov ecx, [r10 + 568]
  mov edx, [r10 + 572]
  mov esi, [r10 + 576]
  mov edi, [r10 + 580]
  mov ebp, [r10 + 584]
  mov r8d, [r10 + 588]
.p2align 5
.Lcoffer_five_block:
  mov r10, [rsp + kFiveArgument]
  mov r9, [r10 + 512]
  mov r11, [r10 + 520]
  mov r12, [r10 + 528]
  mov r13, [r10 + 536]
  mov r14, [r10 + 544]
  vmovdqu xmm4, [r11 + 0]
  vinserti32x4 zmm4, zmm4, [r12 + 0], 1
  vinserti32x4 zmm4, zmm4, [r13 + 0], 2
  vinserti32x4 zmm4, zmm4, [r14 + 0], 3
  vmovdqu xmm5, [r11 + 16]
  vinserti32x4 zmm5, zmm5, [r12 + 16], 1
  vinserti32x4 zmm5, zmm5, [r13 + 16], 2
  vinserti32x4 zmm5, zmm5, [r14 + 16], 3
  vmovdqu xmm6, [r11 + 32]
  vinserti32x4 zmm6, zmm6, [r12 + 32], 1
  vinserti32x4 zmm6, zmm6, [r13 + 32], 2
  vinserti32x4 zmm6, zmm6, [r14 + 32], 3
  vmovdqu xmm7, [r11 + 48]
  vinserti32x4 zmm7, zmm7, [r12 + 48], 1
  vinserti32x4 zmm7, zmm7, [r13 + 48], 2
  vinserti32x4 zmm7, zmm7, [r14 + 48], 3
  vshufps zmm8, zmm4, zmm5, 0x88
  vpaddd zmm0, zmm0, zmm8
  vshufps zmm9, zmm4, zmm5, 0xDD
  vshufps zmm10, zmm6, zmm7, 0x88
  vshufps zmm11, zmm6, zmm7, 0xDD
  vpshufd zmm10, zmm10, 0x93
  vpshufd zmm11, zmm11, 0x93
  vmovdqa64 zmm2, zmm12
  vmovdqu xmm4, [r9 + 0]
  vmovdqu xmm5, [r9 + 16]
  vmovdqu xmm6, [r9 + 32]
  vmovdqu xmm7, [r9 + 48]
  vmovdqu [rsp + 0], xmm4
  vmovdqu [rsp + 16], xmm5
  vmovdqu [rsp + 32], xmm6
  vmovdqu [rsp + 48], xmm7
  add r9, 64
  add r11, 64
  add r12, 64
  add r13, 64
  add r14, 64
  mov [r10 + 512], r9
  mov [r10 + 520], r11
  mov [r10 + 528], r12
  mov [r10 + 536], r13
  mov [r10 + 544], r14
  mov r9, [r10 + 552]
  vmovdqa64 zmm3, [r9]
  mov r15d, [r9 + 64]
  xor r11d, r11d
  xor r12d, r12d
  cmp qword ptr [rsp + kFiveLeft], 16
  sete r11b
  cmp qword ptr [rsp + kFiveLeft], 2
  sete r12b
  add r11d, r12d
  shl r11d, 7
  add r9, r11
  mov [r10 + 552], r9
  # Everything starts this block together.
  lfence
  mov r11d, 0x6A09E667
  mov r9d, 0xBB67AE85
  mov r10d, 0x3C6EF372
  mov dword ptr [rsp + kFiveSlot11], 0xA54FF53A
  mov r12d, [rsp + kFiveCounter]
  mov r13d, [rsp + kFiveCounter + 4]
  mov r14d, 64
  ROUND zmm8, zmm9, zmm10, zmm11, zmm16, zmm17, zmm18, zmm19, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  ROUND zmm16, zmm17, zmm18, zmm19, zmm8, zmm9, zmm10, zmm11, 2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8
  ROUND zmm8, zmm9, zmm10, zmm11, zmm16, zmm17, zmm18, zmm19, 3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1
  ROUND zmm16, zmm17, zmm18, zmm19, zmm8, zmm9, zmm10, zmm11, 10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6
  ROUND zmm8, zmm9, zmm10, zmm11, zmm16, zmm17, zmm18, zmm19, 12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4
  ROUND zmm16, zmm17, zmm18, zmm19, zmm8, zmm9, zmm10, zmm11, 9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7
  ROUND zmm8, zmm9, zmm10, zmm11, zmm16, zmm17, zmm18, zmm19, 11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13
  # The last round has prepared a message that nobody wants.
  vpsubd zmm0, zmm0, zmm16
  xor eax, r11d
  xor ebx, r9d
  xor ecx, r10d
  xor edx, [rsp + kFiveSlot11]
  xor esi, r12d
  xor edi, r13d
  xor ebp, r14d
  xor r8d, r15d
  vpxord zmm0, zmm0, zmm2
  vpxord zmm1, zmm1, zmm3
  dec qword ptr [rsp + kFiveLeft]
  jnz .Lcoffer_five_block
  mov r10, [rsp + kFiveArgument]
  vmovdqa64 [r10], zmm0
  vmovdqa64 [r10 + 64], zmm1
  mov [r10 + 560], eax
  mov [r10 + 564], ebx
  mov [r10 + 568], ecx
  mov [r10 + 572], edx
  mov [r10 + 576], esi
  mov [r10 + 580], edi
  mov [r10 + 584], ebp
  mov [r10 + 588], r8d
  vzeroupper
  add rsp, kFiveFrame
  .cfi_adjust_cfa_offset -kFiveFrame
  pop r15
  .cfi_adjust_cfa_offset -8
  pop r14
  .cfi_adjust_cfa_offset -8
  pop r13
  .cfi_adjust_cfa_offset -8
  pop r12
  .cfi_adjust_cfa_offset -8
  pop rbp
  .cfi_adjust_cfa_offset -8
  pop rbx
  .cfi_adjust_cfa_offset -8
  ret
.cfi_endproc
.size coffer_hash_five_avx512, . - coffer_hash_five_avx512
.purgem HALF
.purgem ROUND
.section .rodata
.p2align 4
.Lcoffer_five_initial_words:
  .long 0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A
.text
.att_syntax prefix
)");

extern "C" void coffer_hash_five_avx512(coffer::FiveChunks* chunks);

namespace coffer {

void HashFiveChunksAvx512(const uint8_t* bytes, size_t count, const uint32_t* key, uint64_t counter, uint8_t flags,
                          uint8_t* out) {
  constexpr size_t kChunkBytes = 1024;
  FiveChunks five;
  std::memcpy(five.chain, key, sizeof(five.chain));
  five.counter = counter;
  five.at[0] = bytes;
  for (size_t j = 0; j < 4; ++j) {
    std::memcpy(five.row_a + 4 * j, key, 16);
    std::memcpy(five.row_b + 4 * j, key + 4, 16);
    // Quarters without a chunk repeat the second one.
    const size_t chunk = j + 1 < count ? j + 1 : 1;
    five.at[j + 1] = bytes + chunk * kChunkBytes;
    const uint64_t chunk_counter = counter + chunk;
    const uint32_t d[4] = {static_cast<uint32_t>(chunk_counter), static_cast<uint32_t>(chunk_counter >> 32), 64, flags};
    std::memcpy(five.first.d + 4 * j, d, sizeof(d));
    std::memcpy(five.middle.d + 4 * j, d, sizeof(d));
    std::memcpy(five.last.d + 4 * j, d, sizeof(d));
    five.first.d[4 * j + 3] |= kFlagChunkStart;
    five.last.d[4 * j + 3] |= kFlagChunkEnd;
  }
  five.first.scalar_flags = flags | kFlagChunkStart;
  five.middle.scalar_flags = flags;
  five.last.scalar_flags = flags | kFlagChunkEnd;
  five.row = &five.first;
  coffer_hash_five_avx512(&five);
  std::memcpy(out, five.chain, 32);
  for (size_t j = 0; j + 1 < count; ++j) {
    std::memcpy(out + 32 * (j + 1), five.row_a + 4 * j, 16);
    std::memcpy(out + 32 * (j + 1) + 16, five.row_b + 4 * j, 16);
  }
}

}  // namespace coffer
