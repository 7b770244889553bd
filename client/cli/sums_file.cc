// SPDX-License-Identifier: Apache-2.0
#include "client/cli/sums_file.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace coffer::client::cli {
namespace {

constexpr size_t kHexDigits = 2 * Digest::kSizeBytes;
constexpr absl::string_view kSeparator = "  ";

// Undoes B3sumLine. False if there is a backslash that it did not write.
bool Unescape(absl::string_view escaped, std::string* name) {
  for (size_t at = 0; at < escaped.size(); ++at) {
    if (escaped[at] != '\\') {
      name->push_back(escaped[at]);
      continue;
    }
    if (++at == escaped.size() || (escaped[at] != 'n' && escaped[at] != '\\')) return false;
    name->push_back(escaped[at] == 'n' ? '\n' : '\\');
  }
  return true;
}

}  // namespace

absl::StatusOr<SumLine> ParseSumLine(absl::string_view line) {
  absl::string_view rest = line;
  const bool is_escaped = absl::ConsumePrefix(&rest, "\\");
  absl::StatusOr<Digest> digest = Digest::FromHex(rest.substr(0, kHexDigits));
  if (digest.ok()) rest.remove_prefix(kHexDigits);
  SumLine result;
  bool fits = digest.ok() && absl::ConsumePrefix(&rest, kSeparator) && !rest.empty();
  if (fits && is_escaped) {
    fits = Unescape(rest, &result.name);
  } else if (fits) {
    result.name = std::string(rest);
  }
  if (!fits) {
    return absl::FailedPreconditionError(
        absl::StrCat("not a line of b3sum, a digest in hex and a name: \"", line.substr(0, 100), "\""));
  }
  result.digest = *digest;
  return result;
}

}  // namespace coffer::client::cli
