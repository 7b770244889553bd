// SPDX-License-Identifier: Apache-2.0
// Parsing and printing of digests and chaining values.
#include "hashing/digest.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace coffer {
namespace {

constexpr size_t kHexDigits = 64;
// Enough to recognise a mistyped value in a message, and bounded whatever a client sends.
constexpr size_t kMaxQuotedBytes = 80;

std::string Quoted(absl::string_view value) {
  return absl::StrCat("\"", absl::CEscape(value.substr(0, kMaxQuotedBytes)), "\"",
                      value.size() > kMaxQuotedBytes ? " (shortened)" : "");
}

int HexDigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

template <typename Value>
absl::StatusOr<Value> ParseBytes(absl::string_view kind, absl::string_view bytes) {
  if (bytes.size() != Value::kSizeBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a ", kind, " is exactly 32 bytes, got ", bytes.size(), " bytes"));
  }
  Value value;
  std::memcpy(value.mutable_data(), bytes.data(), Value::kSizeBytes);
  return value;
}

template <typename Value>
absl::StatusOr<Value> ParseHex(absl::string_view kind, absl::string_view hex) {
  if (hex.size() != kHexDigits) {
    return absl::InvalidArgumentError(absl::StrCat("a ", kind, " is exactly 64 lower-case hex digits, got ", hex.size(),
                                                   " characters: ", Quoted(hex)));
  }
  Value value;
  for (size_t i = 0; i < kHexDigits; i += 2) {
    const int high = HexDigitValue(hex[i]);
    const int low = HexDigitValue(hex[i + 1]);
    if (high < 0 || low < 0) {
      const size_t offset = high < 0 ? i : i + 1;
      return absl::InvalidArgumentError(absl::StrCat("a ", kind, " is exactly 64 lower-case hex digits, got ",
                                                     Quoted(hex.substr(offset, 1)), " at position ", offset, " of ",
                                                     Quoted(hex)));
    }
    value.mutable_data()[i / 2] = static_cast<uint8_t>(high * 16 + low);
  }
  return value;
}

}  // namespace

absl::StatusOr<Digest> Digest::FromBytes(absl::string_view bytes) { return ParseBytes<Digest>("digest", bytes); }
absl::StatusOr<Digest> Digest::FromHex(absl::string_view hex) { return ParseHex<Digest>("digest", hex); }
std::string Digest::ToHex() const { return absl::BytesToHexString(view()); }

absl::StatusOr<ChainingValue> ChainingValue::FromBytes(absl::string_view bytes) {
  return ParseBytes<ChainingValue>("chaining value", bytes);
}
absl::StatusOr<ChainingValue> ChainingValue::FromHex(absl::string_view hex) {
  return ParseHex<ChainingValue>("chaining value", hex);
}
std::string ChainingValue::ToHex() const { return absl::BytesToHexString(view()); }

}  // namespace coffer
