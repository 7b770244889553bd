// SPDX-License-Identifier: Apache-2.0
//
// Lines as `b3sum` prints them and `coffer ls` does, read back.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hashing/digest.h"

namespace coffer::client::cli {

struct SumLine {
  Digest digest;
  std::string name;
};

// "DIGEST  NAME", or with a backslash in front of it a name in which "\n" and "\\" stand for a newline and a backslash.
// FAILED_PRECONDITION for anything else.
absl::StatusOr<SumLine> ParseSumLine(absl::string_view line);

}  // namespace coffer::client::cli
