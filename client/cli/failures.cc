// SPDX-License-Identifier: Apache-2.0
#include "client/cli/failures.h"

#include <cstdio>

#include "absl/strings/str_cat.h"

namespace coffer::client::cli {
namespace {

void Say(const std::string& line) { std::fwrite(line.data(), 1, line.size(), stderr); }

}  // namespace

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return kExitUsage;
    case absl::StatusCode::kDataLoss:
      return kExitIntegrity;
    case absl::StatusCode::kNotFound:
      return kExitNotFound;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return kExitPermission;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnavailable;
    case absl::StatusCode::kResourceExhausted:
      return kExitNoSpace;
    default:
      return kExitFailure;
  }
}

void Failures::Report(absl::string_view what, const absl::Status& status) {
  if (status.ok()) return;
  const absl::string_view message = status.message();
  Say(absl::StrCat("coffer: ", what, what.empty() ? "" : ": ",
                   message.empty() ? absl::StatusCodeToString(status.code()) : std::string(message), "\n"));
  SetExitCode(ExitCodeOf(status));
}

void Failures::ReportUsage(absl::string_view message) {
  Say(absl::StrCat("coffer: ", message, "\n"));
  SetExitCode(kExitUsage);
}

void Failures::SetExitCode(int code) {
  std::lock_guard lock(mutex_);
  if (exit_code_ == kExitOk || code == kExitIntegrity) exit_code_ = code;
}

int Failures::exit_code() const {
  std::lock_guard lock(mutex_);
  return exit_code_;
}

}  // namespace coffer::client::cli
