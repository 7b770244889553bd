// SPDX-License-Identifier: Apache-2.0
//
// What went wrong in one command, and the exit code that follows from it.
#pragma once

#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace coffer::client::cli {

// The exit codes of `coffer`. A signal gives 128 + its number: 130 for SIGINT.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitIntegrity = 3;
inline constexpr int kExitNotFound = 4;
inline constexpr int kExitPermission = 5;
inline constexpr int kExitUnavailable = 6;
inline constexpr int kExitNoSpace = 7;
inline constexpr int kExitSignalBase = 128;

int ExitCodeOf(const absl::Status& status);

// Reports each failure on stderr at once and remembers the exit code: integrity wins, else the first. Thread-safe.
class Failures {
 public:
  // "coffer: WHAT: MESSAGE". OK is ignored.
  void Report(absl::string_view what, const absl::Status& status);
  // A command line that cannot be carried out.
  void ReportUsage(absl::string_view message);
  // Remembers `code` for something that was already said.
  void SetExitCode(int code);

  int exit_code() const;
  bool any() const { return exit_code() != kExitOk; }

 private:
  mutable std::mutex mutex_;  // guards exit_code_
  int exit_code_ = kExitOk;
};

}  // namespace coffer::client::cli
