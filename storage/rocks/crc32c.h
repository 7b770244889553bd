// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli; RFC 3720, appendix B.4), as RocksDB's log and file checksums use it, by the CPU's own
// instruction where it has one.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace coffer::rocks {

// The checksum of what `crc` stands for (0: nothing), followed by `bytes`.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

inline uint32_t Crc32c(absl::string_view bytes) { return ExtendCrc32c(0, bytes); }

// What a log stores in place of a checksum: one of bytes that contain checksums themselves would be weak.
inline uint32_t MaskCrc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace coffer::rocks
