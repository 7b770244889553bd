// SPDX-License-Identifier: Apache-2.0
#include "storage/names.h"

#include <utf8.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace coffer {
namespace {

bool IsUtf8(absl::string_view value) { return utf8::is_valid(value.begin(), value.end()); }

absl::Status CheckLength(absl::string_view what, absl::string_view value, size_t limit) {
  if (value.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(what, " \"\" is empty: it takes 1 to ", limit, " bytes"));
  }
  if (value.size() > limit) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " ", Quoted(value), " has ", value.size(), " bytes: at most ", limit, " are allowed"));
  }
  return absl::OkStatus();
}

bool IsKeyCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
}

}  // namespace

absl::Status CheckBackupName(absl::string_view name) {
  constexpr size_t kMaxBackupNameBytes = 255;
  const auto is_allowed = [](char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-'; };
  if (!name.empty() && name.size() <= kMaxBackupNameBytes && name.front() != '.' &&
      std::all_of(name.begin(), name.end(), is_allowed)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("backup name ", Quoted(name), " has ", name.size(),
                   " bytes: it may have 1 to 255 of A-Z a-z 0-9 . _ -, no dot at the start"));
}

std::string Quoted(absl::string_view value) {
  constexpr size_t kShown = 80;
  const absl::string_view shown = value.substr(0, kShown);
  // A message is a string on the wire and has to be UTF-8, also where the cut goes through a character.
  std::string quoted =
      absl::StrCat("\"", IsUtf8(shown) ? absl::Utf8SafeCHexEscape(shown) : absl::CHexEscape(shown), "\"");
  if (value.size() > kShown) absl::StrAppend(&quoted, "... (", value.size(), " bytes)");
  return quoted;
}

absl::Status CheckBucket(absl::string_view bucket) {
  if (absl::Status status = CheckLength("bucket", bucket, kMaxBucketBytes); !status.ok()) return status;
  const bool has_control = std::any_of(bucket.begin(), bucket.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c)) || c == '/';
  });
  if (has_control || !IsUtf8(bucket)) {
    return absl::InvalidArgumentError(
        absl::StrCat("bucket ", Quoted(bucket), " must be UTF-8 without \"/\" and control characters"));
  }
  return absl::OkStatus();
}

absl::Status CheckName(absl::string_view name) {
  if (absl::Status status = CheckLength("name", name, kMaxNameBytes); !status.ok()) return status;
  if (name.find('\0') != absl::string_view::npos || !IsUtf8(name)) {
    return absl::InvalidArgumentError(absl::StrCat("name ", Quoted(name), " must be UTF-8 without NUL"));
  }
  return absl::OkStatus();
}

absl::Status CheckNameFits(absl::string_view name, const Digest& digest) {
  if (!Digest::FromHex(name).ok() || name == digest.ToHex()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("name ", Quoted(name), " looks like a digest, but the content's is ",
                                                 digest.ToHex(), ": a name of 64 hex digits must be equal to it"));
}

absl::StatusOr<Metadata> NormaliseMetadata(const Metadata& metadata) {
  if (metadata.size() > kMaxMetadataPairs) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata has ", metadata.size(), " pairs: at most ", kMaxMetadataPairs, " are allowed"));
  }
  Metadata normalised;
  size_t total_bytes = 0;
  for (const auto& [key, value] : metadata) {
    if (absl::Status status = CheckLength("metadata key", key, kMaxMetadataKeyBytes); !status.ok()) return status;
    if (!std::all_of(key.begin(), key.end(), IsKeyCharacter)) {
      return absl::InvalidArgumentError(
          absl::StrCat("metadata key ", Quoted(key), " may contain only A-Z a-z 0-9 . _ -"));
    }
    if (value.size() > kMaxMetadataValueBytes || !IsUtf8(value)) {
      return absl::InvalidArgumentError(absl::StrCat("metadata value ", Quoted(value), " of key ", Quoted(key),
                                                     " must be UTF-8 of at most ", kMaxMetadataValueBytes, " bytes"));
    }
    total_bytes += key.size() + value.size();
    if (!normalised.emplace(absl::AsciiStrToLower(key), value).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("metadata key ", Quoted(key), " is given twice: keys do not differ by case"));
    }
  }
  if (total_bytes > kMaxMetadataBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata has ", total_bytes, " bytes: at most ", kMaxMetadataBytes, " are allowed"));
  }
  return normalised;
}

}  // namespace coffer
