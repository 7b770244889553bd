// SPDX-License-Identifier: Apache-2.0
// One lane of BLAKE3 in x86-64 general registers. A single chain of compressions is bound by latency, and
// there general registers win over vectors: their additions take one cycle where some CPUs' vectors take two,
// and neither diagonals nor the message schedule cost a shuffle. Compilers spill too much here, hence
// assembly.
//
// The 16 state words need 16 registers and there are 15, so v8 and v11 take turns in r11d: each waits in its
// slot while the quarter rounds that do not need it run. Both are long done when they are stored and come
// early when they are loaded, so the turn stays off the critical path. The message is copied into the
// frame, because no register is left to point at it.
#include "hashing/kernel.h"
#include "hashing/kernel_table.h"

// Arguments: rdi chain, rsi blocks, rdx count > 0, rcx counter, r8d block bytes, r9d flags of the first
// block, on the stack the flags of the others.
asm(R"(
.text
.intel_syntax noprefix
.p2align 6
.globl coffer_absorb_x64
.hidden coffer_absorb_x64
.type coffer_absorb_x64, @function

.set kSlot8, 64
.set kSlot11, 68
.set kChain, 72
.set kBlocks, 80
.set kCount, 88
.set kCounter, 96
.set kBlockBytes, 104
.set kFlags, 108
.set kFrame, 120

# Four quarter rounds: words a, b, c, d, message words x and y. The fourth shares its c register with the first: its c
# waits in \load until the first's is done and goes to \store.
.macro MIX4 a0, b0, c0, d0, x0, y0, a1, b1, c1, d1, x1, y1, a2, b2, c2, d2, x2, y2, a3, b3, c3, d3, x3, y3, store, load
  add \a0, [rsp + 4*\x0]
  add \a1, [rsp + 4*\x1]
  add \a2, [rsp + 4*\x2]
  add \a3, [rsp + 4*\x3]
  add \a0, \b0
  add \a1, \b1
  add \a2, \b2
  add \a3, \b3
  xor \d0, \a0
  xor \d1, \a1
  xor \d2, \a2
  xor \d3, \a3
  ror \d0, 16
  ror \d1, 16
  ror \d2, 16
  ror \d3, 16
  add \c0, \d0
  add \c1, \d1
  add \c2, \d2
  xor \b0, \c0
  xor \b1, \c1
  xor \b2, \c2
  ror \b0, 12
  ror \b1, 12
  ror \b2, 12
  add \a0, [rsp + 4*\y0]
  add \a1, [rsp + 4*\y1]
  add \a2, [rsp + 4*\y2]
  add \a0, \b0
  add \a1, \b1
  add \a2, \b2
  xor \d0, \a0
  xor \d1, \a1
  xor \d2, \a2
  ror \d0, 8
  ror \d1, 8
  ror \d2, 8
  add \c0, \d0
  add \c1, \d1
  add \c2, \d2
  xor \b0, \c0
  xor \b1, \c1
  xor \b2, \c2
  mov [rsp + \store], \c0
  mov \c0, [rsp + \load]
  ror \b0, 7
  ror \b1, 7
  ror \b2, 7
  add \c3, \d3
  xor \b3, \c3
  ror \b3, 12
  add \a3, [rsp + 4*\y3]
  add \a3, \b3
  xor \d3, \a3
  ror \d3, 8
  add \c3, \d3
  xor \b3, \c3
  ror \b3, 7
.endm

# v0-v3: eax ebx ecx edx; v4-v7: esi edi ebp r8d; v8 or v11: r11d; v9: r9d; v10: r10d; v12-v15: r12d-r15d.
.macro ROUND m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15
  MIX4 eax, esi, r11d, r12d, \m0, \m1,  ebx, edi, r9d, r13d, \m2, \m3,  ecx, ebp, r10d, r14d, \m4, \m5,  edx, r8d, r11d, r15d, \m6, \m7, kSlot8, kSlot11
  MIX4 ebx, ebp, r11d, r12d, \m10, \m11,  eax, edi, r10d, r15d, \m8, \m9,  edx, esi, r9d, r14d, \m14, \m15,  ecx, r8d, r11d, r13d, \m12, \m13, kSlot11, kSlot8
.endm

coffer_absorb_x64:
.cfi_startproc
  mov eax, [rsp + 8]
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
  sub rsp, kFrame
  .cfi_adjust_cfa_offset kFrame
  mov [rsp + kChain], rdi
  mov [rsp + kCount], rdx
  mov [rsp + kCounter], rcx
  mov [rsp + kBlockBytes], r8d
  mov [rsp + kFlags], eax
  mov r15d, r9d
  mov r9, rsi
  mov r10, rdi
  mov eax, [r10]
  mov ebx, [r10 + 4]
  mov ecx, [r10 + 8]
  mov edx, [r10 + 12]
  mov esi, [r10 + 16]
  mov edi, [r10 + 20]
  mov ebp, [r10 + 24]
  mov r8d, [r10 + 28]
.p2align 5
.Lcoffer_absorb_block:
  movdqu xmm0, [r9]
  movdqu xmm1, [r9 + 16]
  movdqu xmm2, [r9 + 32]
  movdqu xmm3, [r9 + 48]
  add r9, 64
  mov [rsp + kBlocks], r9
  movups [rsp], xmm0
  movups [rsp + 16], xmm1
  movups [rsp + 32], xmm2
  movups [rsp + 48], xmm3
  mov r11d, 0x6A09E667
  mov r9d, 0xBB67AE85
  mov r10d, 0x3C6EF372
  mov dword ptr [rsp + kSlot11], 0xA54FF53A
  mov r12d, [rsp + kCounter]
  mov r13d, [rsp + kCounter + 4]
  mov r14d, [rsp + kBlockBytes]
  ROUND 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
  ROUND 2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8
  ROUND 3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1
  ROUND 10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6
  ROUND 12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4
  ROUND 9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7
  ROUND 11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13
  xor eax, r11d
  xor ebx, r9d
  xor ecx, r10d
  xor edx, [rsp + kSlot11]
  xor esi, r12d
  xor edi, r13d
  xor ebp, r14d
  xor r8d, r15d
  mov r15d, [rsp + kFlags]
  mov r9, [rsp + kBlocks]
  dec qword ptr [rsp + kCount]
  jnz .Lcoffer_absorb_block
  mov r10, [rsp + kChain]
  mov [r10], eax
  mov [r10 + 4], ebx
  mov [r10 + 8], ecx
  mov [r10 + 12], edx
  mov [r10 + 16], esi
  mov [r10 + 20], edi
  mov [r10 + 24], ebp
  mov [r10 + 28], r8d
  add rsp, kFrame
  .cfi_adjust_cfa_offset -kFrame
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
.size coffer_absorb_x64, . - coffer_absorb_x64
.purgem MIX4
.purgem ROUND
.att_syntax prefix
)");

extern "C" void coffer_absorb_x64(uint32_t* chain, const uint8_t* blocks, size_t count, uint64_t counter,
                                  uint32_t block_bytes, uint32_t first_block_flags, uint32_t flags);

namespace coffer {

void AbsorbX64(uint32_t* chain, const uint8_t* blocks, size_t count, uint32_t block_bytes, uint64_t counter,
               uint8_t flags, uint8_t first_flags) {
  if (count == 0) return;
  coffer_absorb_x64(chain, blocks, count, counter, block_bytes, flags | first_flags, flags);
}

}  // namespace coffer
