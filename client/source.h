// SPDX-License-Identifier: Apache-2.0
//
// Where the bytes of a put come from: a buffer, a file or a pipe. Sources are read piece by piece, so a put
// needs the same memory whatever the size.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/unique_fd.h"
#include "hashing/bytes.h"

namespace coffer::client {

// A finite stream of bytes. Used by one thread at a time.
class Source {
 public:
  virtual ~Source() = default;

  // Writes up to out.size() bytes and returns how many; 0 only at the end (`out` is never empty). Errors come
  // from where the bytes come from.
  virtual absl::StatusOr<size_t> Read(absl::Span<uint8_t> out) = 0;

  // How many bytes Read() gives in all, if that is known before reading.
  virtual std::optional<uint64_t> size_bytes() const = 0;

  // Starts over at the first byte. FAILED_PRECONDITION if the source cannot (a pipe).
  virtual absl::Status Rewind() = 0;
};

// Reads `bytes`, which must outlive it.
class BufferSource : public Source {
 public:
  explicit BufferSource(ByteSpan bytes) : bytes_(bytes) {}
  absl::StatusOr<size_t> Read(absl::Span<uint8_t> out) override;
  std::optional<uint64_t> size_bytes() const override { return bytes_.size(); }
  absl::Status Rewind() override;

 private:
  ByteSpan bytes_;
  size_t position_ = 0;
};

// Reads a descriptor. A regular file that is not empty is read up to the size that it had when it was opened:
// what is appended meanwhile is left out, and FAILED_PRECONDITION tells that it became shorter. (Files of
// size 0 are read to their end, for those in /proc have bytes all the same.)
class FileSource : public Source {
 public:
  // NOT_FOUND, PERMISSION_DENIED and so on, naming `path`; FAILED_PRECONDITION for a directory.
  static absl::StatusOr<std::unique_ptr<FileSource>> Open(const std::string& path);
  // As Open(), but only a regular file will do, and a symbolic link in place of it is refused.
  static absl::StatusOr<std::unique_ptr<FileSource>> OpenRegular(const std::string& path);
  // Takes `fd`; `path` is for messages. A pipe's size is unknown and it cannot be rewound.
  static absl::StatusOr<std::unique_ptr<FileSource>> FromFd(UniqueFd fd, std::string path);

  absl::StatusOr<size_t> Read(absl::Span<uint8_t> out) override;
  std::optional<uint64_t> size_bytes() const override { return size_bytes_; }
  absl::Status Rewind() override;

  // Fills `out` with the bytes at `offset`, which lie within size_bytes(), wherever Read() stands. For any thread.
  absl::Status ReadAt(uint64_t offset, absl::Span<uint8_t> out) const;

 private:
  absl::Status BecameShorter(uint64_t at) const;

  FileSource(UniqueFd fd, std::string path, std::optional<uint64_t> size_bytes, bool seekable)
      : fd_(std::move(fd)), path_(std::move(path)), size_bytes_(size_bytes), seekable_(seekable) {}

  UniqueFd fd_;
  std::string path_;
  std::optional<uint64_t> size_bytes_;
  bool seekable_;
  uint64_t position_ = 0;
};

}  // namespace coffer::client
