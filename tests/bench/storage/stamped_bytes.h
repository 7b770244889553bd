// SPDX-License-Identifier: Apache-2.0
//
// Content that costs next to nothing to make, so that putting it is what is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace coffer::bench {

// Random bytes that are written once, so that their memory is not fresh, and stamped again for each blob. Used by one
// thread at a time.
class StampedBytes {
 public:
  explicit StampedBytes(size_t capacity_bytes);

  // The bytes of piece `piece` of blob `number`, valid until the next call. At least 16 and at most `capacity_bytes`;
  // no page of 4 KiB is like one of another piece or blob.
  absl::string_view Piece(uint64_t number, uint64_t piece, size_t size_bytes);

  absl::string_view Blob(uint64_t number, size_t size_bytes) { return Piece(number, 0, size_bytes); }

 private:
  std::string bytes_;
};

// `size_bytes` bytes in no order, the same for the same number.
std::string ScatteredKey(uint64_t number, size_t size_bytes);

}  // namespace coffer::bench
