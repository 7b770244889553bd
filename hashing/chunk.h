// SPDX-License-Identifier: Apache-2.0
// The units of a BLAKE3 tree: chunks are its leaves, chunk groups are what coffer verifies by.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace coffer {

// Bytes of a leaf of the tree (BLAKE3 paper 2.1); the last chunk of a blob may be shorter.
inline constexpr size_t kChunkBytes = 1024;
// Chunks of a chunk group, the unit of verification.
inline constexpr size_t kGroupChunks = 16;
inline constexpr size_t kGroupBytes = kGroupChunks * kChunkBytes;

// The position of a chunk in its blob, counted from 0. Also the counter that its compression takes.
class ChunkIndex {
 public:
  constexpr ChunkIndex() = default;
  constexpr explicit ChunkIndex(uint64_t value) : value_(value) {}
  constexpr uint64_t value() const { return value_; }
  constexpr uint64_t offset_bytes() const { return value_ * kChunkBytes; }
  friend constexpr auto operator<=>(ChunkIndex, ChunkIndex) = default;

 private:
  uint64_t value_ = 0;
};

// The position of a chunk group in its blob, counted from 0.
class GroupIndex {
 public:
  constexpr GroupIndex() = default;
  constexpr explicit GroupIndex(uint64_t value) : value_(value) {}
  constexpr uint64_t value() const { return value_; }
  constexpr uint64_t offset_bytes() const { return value_ * kGroupBytes; }
  constexpr ChunkIndex first_chunk() const { return ChunkIndex(value_ * kGroupChunks); }
  friend constexpr auto operator<=>(GroupIndex, GroupIndex) = default;

 private:
  uint64_t value_ = 0;
};

}  // namespace coffer
