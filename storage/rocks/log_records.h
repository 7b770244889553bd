// SPDX-License-Identifier: Apache-2.0
//
// The fragments that a write-ahead log consists of, read as they lie on the disk: blocks of 32 KiB; a fragment is a
// header (masked CRC-32C, length, type; a log number for the recyclable types) and its payload, and lies within a
// block; a batch is one whole fragment or a first one, middle ones and a last one. Fewer than kHeaderBytes at the end
// of a block are zeros.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace coffer::rocks {

struct LogFragment {
  enum class Part : uint8_t { kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

  Part part = Part::kWhole;
  // In the file: [begin_bytes, end_bytes), header and payload.
  uint64_t begin_bytes = 0;
  uint64_t end_bytes = 0;
  // Valid until the next read.
  absl::string_view payload;

  bool begins_batch() const { return part == Part::kWhole || part == Part::kFirst; }
  bool ends_batch() const { return part == Part::kWhole || part == Part::kLast; }
};

// Used by one thread. Holds one block.
class LogFile {
 public:
  static constexpr uint64_t kBlockBytes = 32768;
  static constexpr uint64_t kHeaderBytes = 7;

  // UNAVAILABLE if it cannot be opened.
  static absl::StatusOr<LogFile> Open(const std::string& path);
  LogFile(LogFile&& other) noexcept;
  LogFile& operator=(LogFile&&) = delete;
  ~LogFile();

  const std::string& path() const { return path_; }
  uint64_t size_bytes() const { return size_bytes_; }

  // The fragment that begins at `offset_bytes`, or nothing if there is none that passes its checksum. UNAVAILABLE if
  // the disk does not answer.
  absl::StatusOr<std::optional<LogFragment>> At(uint64_t offset_bytes);

  // The first fragment that begins at `offset_bytes` or behind it, at whichever byte.
  absl::StatusOr<std::optional<LogFragment>> Next(uint64_t offset_bytes);

  // Where a fragment behind one that ends at `end_bytes` begins: there, or at the next block.
  static uint64_t NextPlace(uint64_t end_bytes);

  // Whether [begin_bytes, end of the file) is empty or zeros within the last kHeaderBytes of a block.
  absl::StatusOr<bool> IsEnd(uint64_t begin_bytes);

 private:
  LogFile(std::string path, int fd, uint64_t size_bytes) : path_(std::move(path)), fd_(fd), size_bytes_(size_bytes) {}
  absl::Status Load(uint64_t block);
  std::optional<LogFragment> Parse(uint64_t offset_bytes) const;

  const std::string path_;
  int fd_;
  const uint64_t size_bytes_;
  // Which block is loaded; none at first.
  uint64_t block_ = ~uint64_t{0};
  std::string bytes_;
};

// Where a batch of `batch_bytes` began whose last fragment ends at `end_bytes`; 0 if it cannot have begun in this file.
uint64_t BeginOfBatch(uint64_t end_bytes, uint64_t batch_bytes);

}  // namespace coffer::rocks
