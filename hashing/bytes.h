// SPDX-License-Identifier: Apache-2.0
// Views of raw bytes. Abseil's string_view carries bytes through protobuf and RocksDB; hashing works on
// uint8_t.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace coffer {

// A borrowed run of bytes; whoever made it keeps it alive.
using ByteSpan = absl::Span<const uint8_t>;

// The bytes of `text`, borrowed, not copied.
inline ByteSpan BytesOf(absl::string_view text) {
  return ByteSpan(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

}  // namespace coffer
