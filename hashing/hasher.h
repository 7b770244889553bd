// SPDX-License-Identifier: Apache-2.0
// Streaming BLAKE3 on one thread, in all modes, without allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hashing/bytes.h"
#include "hashing/chunk.h"
#include "hashing/digest.h"
#include "hashing/keyed_subtree.h"
#include "hashing/subtree_stack.h"

namespace coffer {

// The endless output of a finished hash (BLAKE3 paper 2.6). A value type, independent of its Hasher; one
// thread at a time.
class XofReader {
 public:
  // Moves to `offset_bytes` of the output; any uint64_t will do.
  void Seek(uint64_t offset_bytes);

  // Fills `out` from the current offset and moves on behind it. What is read on over the 2^64th byte is what comes
  // behind it, not the beginning again.
  void Read(absl::Span<uint8_t> out);

  // Modulo 2^64.
  uint64_t offset_bytes() const { return block_ * kBlockBytes + read_bytes_; }

 private:
  friend class Hasher;
  static constexpr size_t kBlockBytes = 64;
  explicit XofReader(const LastCompression& root) : root_(root) {}

  LastCompression root_;
  // The next byte: a block of the output, counted from 0, and what has been read of it.
  uint64_t block_ = 0;
  size_t read_bytes_ = 0;
};

// Hashes a stream in pieces of any size. About 18 KiB, meant to live on a stack or inside another object;
// copying one forks the stream. One thread at a time; never allocates.
class Hasher {
 public:
  static constexpr size_t kKeyBytes = 32;

  // Plain hashing: Finalize() is what `b3sum` prints.
  Hasher();

  // Keyed hashing (a MAC) with a 32-byte key.
  static Hasher Keyed(const std::array<uint8_t, kKeyBytes>& key);

  // Key derivation: `context` should be hard-coded and globally unique (BLAKE3 paper 2.3); the key material
  // is what Update then takes.
  static Hasher DeriveKey(absl::string_view context);

  Hasher(const Hasher& other) { *this = other; }
  Hasher& operator=(const Hasher& other);

  // Appends `bytes`, which may be empty and need not outlive the call.
  void Update(ByteSpan bytes);

  // The digest (or MAC, or derived key) of everything so far. The stream may go on afterwards.
  Digest Finalize() const;

  // The endless output of everything so far; its first 32 bytes are Finalize().
  XofReader FinalizeXof() const;

  // Bytes appended so far.
  uint64_t size_bytes() const;

 private:
  Hasher(const uint32_t* key_words, uint8_t flags);

  TreeMode mode() const { return TreeMode{key_.data(), flags_}; }
  void PushGroups(ByteSpan bytes);
  LastCompression Last() const;

  std::array<uint32_t, 8> key_;
  uint8_t flags_;
  // Whole groups that are known not to be the last wait in stack_; up to one group waits in buffer_.
  SubtreeStack stack_;
  size_t buffered_bytes_ = 0;
  // Not cleared: only the first buffered_bytes_ are ever read.
  union {
    std::array<uint8_t, kGroupBytes> buffer_;
  };
};

}  // namespace coffer
