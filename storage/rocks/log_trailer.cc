// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/log_trailer.h"

namespace coffer::rocks {
namespace {

// RocksDB's tag of an entry that is for the log alone.
constexpr char kLogDataTag = 3;
constexpr char kNoteBytes = LogTrailer::kEntryBytes - 2;

}  // namespace

uint64_t LittleEndian64(const char* bytes) { return LittleEndian32(bytes) | uint64_t{LittleEndian32(bytes + 4)} << 32; }

uint32_t LittleEndian32(const char* bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

std::string LogTrailer::EncodeNote() const {
  std::string note;
  for (uint64_t number : {previous_sequence, batch_bytes}) {
    for (int i = 0; i < 8; ++i, number >>= 8) note.push_back(static_cast<char>(number));
  }
  return note;
}

std::optional<LogTrailer> LogTrailer::Decode(absl::string_view end_of_batch) {
  if (end_of_batch.size() < kEntryBytes) return std::nullopt;
  const char* const entry = end_of_batch.data() + end_of_batch.size() - kEntryBytes;
  if (entry[0] != kLogDataTag || entry[1] != kNoteBytes) return std::nullopt;
  return LogTrailer{LittleEndian64(entry + 2), LittleEndian64(entry + 10)};
}

}  // namespace coffer::rocks
