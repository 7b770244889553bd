// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace coffer::rocks {
namespace {

constexpr uint32_t kReversedPolynomial = 0x82f63b78;

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReversedPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = MakeTable();

uint32_t ExtendByTable(uint32_t crc, const char* bytes, size_t size_bytes) {
  for (size_t i = 0; i < size_bytes; ++i) crc = kTable[(crc ^ static_cast<uint8_t>(bytes[i])) & 0xff] ^ (crc >> 8);
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t ExtendByInstruction(uint32_t crc, const char* bytes, size_t size_bytes) {
  uint64_t wide = crc;
  for (; size_bytes >= 8; size_bytes -= 8, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    wide = _mm_crc32_u64(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; size_bytes > 0; --size_bytes, ++bytes) crc = _mm_crc32_u8(crc, static_cast<uint8_t>(*bytes));
  return crc;
}
#endif

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~ExtendByInstruction(~crc, bytes.data(), bytes.size());
#endif
  return ~ExtendByTable(~crc, bytes.data(), bytes.size());
}

}  // namespace coffer::rocks
