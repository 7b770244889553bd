// SPDX-License-Identifier: Apache-2.0
// The two 32-byte values of a BLAKE3 tree, as types that do not convert into each other: the digest names a
// blob, a chaining value stands for a subtree that is not the root.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace coffer {

// The 32-byte BLAKE3 root hash of a blob. A value type; all bytes are zero by default.
class Digest {
 public:
  static constexpr size_t kSizeBytes = 32;

  constexpr Digest() = default;

  // From exactly 32 raw bytes. INVALID_ARGUMENT, naming the length found, for any other length.
  static absl::StatusOr<Digest> FromBytes(absl::string_view bytes);

  // From exactly 64 lower-case hex digits. INVALID_ARGUMENT, naming the value (at most its first 80 bytes)
  // and what is wrong with it, for anything else.
  static absl::StatusOr<Digest> FromHex(absl::string_view hex);

  // 64 lower-case hex digits, as `b3sum` prints them.
  std::string ToHex() const;

  // The 32 raw bytes, borrowed from this object.
  absl::string_view view() const { return absl::string_view(reinterpret_cast<const char*>(bytes_.data()), kSizeBytes); }
  const uint8_t* data() const { return bytes_.data(); }
  uint8_t* mutable_data() { return bytes_.data(); }

  friend bool operator==(const Digest&, const Digest&) = default;
  friend auto operator<=>(const Digest&, const Digest&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Digest& digest) {
    return H::combine(std::move(state), digest.bytes_);
  }

 private:
  std::array<uint8_t, kSizeBytes> bytes_{};
};

// The 32-byte hash of a subtree that is not the root (BLAKE3 paper 2.1). Same shape as a digest, never one.
class ChainingValue {
 public:
  static constexpr size_t kSizeBytes = 32;

  constexpr ChainingValue() = default;

  // As Digest::FromBytes.
  static absl::StatusOr<ChainingValue> FromBytes(absl::string_view bytes);

  // As Digest::FromHex.
  static absl::StatusOr<ChainingValue> FromHex(absl::string_view hex);

  // 64 lower-case hex digits.
  std::string ToHex() const;

  // The 32 raw bytes, borrowed from this object.
  absl::string_view view() const { return absl::string_view(reinterpret_cast<const char*>(bytes_.data()), kSizeBytes); }
  const uint8_t* data() const { return bytes_.data(); }
  uint8_t* mutable_data() { return bytes_.data(); }

  friend bool operator==(const ChainingValue&, const ChainingValue&) = default;
  friend auto operator<=>(const ChainingValue&, const ChainingValue&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const ChainingValue& value) {
    return H::combine(std::move(state), value.bytes_);
  }

 private:
  std::array<uint8_t, kSizeBytes> bytes_{};
};

}  // namespace coffer
