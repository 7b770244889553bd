// SPDX-License-Identifier: Apache-2.0
//
// The last entry of every batch of ours in the log (FORMAT.md 11): a note of RocksDB's "log data" kind, which is
// written to the log only. With it the log tells by itself whether a batch is missing, and where a batch began of which
// only the end is left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace coffer::rocks {

struct LogTrailer {
  // Sequence number of the batch that this process wrote before; 0 for its first.
  uint64_t previous_sequence = 0;
  // All bytes of the batch, header and trailer included.
  uint64_t batch_bytes = 0;

  // The entry: its tag, the length of the note, and the note.
  static constexpr size_t kEntryBytes = 2 + 16;

  std::string EncodeNote() const;
  // From bytes that end with a batch, at least its last kEntryBytes. Nothing if they end otherwise.
  static std::optional<LogTrailer> Decode(absl::string_view end_of_batch);
};

// Little-endian, as RocksDB writes.
uint64_t LittleEndian64(const char* bytes);
uint32_t LittleEndian32(const char* bytes);

}  // namespace coffer::rocks
