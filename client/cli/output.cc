// SPDX-License-Identifier: Apache-2.0
#include "client/cli/output.h"

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace coffer::client::cli {

std::string B3sumLine(const Digest& digest, absl::string_view name) {
  if (name.find_first_of("\\\n") == absl::string_view::npos) return absl::StrCat(digest.ToHex(), "  ", name);
  return absl::StrCat("\\", digest.ToHex(), "  ", absl::StrReplaceAll(name, {{"\\", "\\\\"}, {"\n", "\\n"}}));
}

std::string FormatTimeUtc(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", time, absl::UTCTimeZone());
}

std::string FormatBytes(uint64_t size_bytes) {
  if (size_bytes < 1024) return absl::StrCat(size_bytes, " B");
  double value = static_cast<double>(size_bytes);
  const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = -1;
  while (value >= 1024 && unit < 5) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, units[unit]);
}

Json JsonOf(const Reference& reference) {
  return Json{{"bucket", reference.bucket},
              {"name", reference.name},
              {"digest", reference.digest.ToHex()},
              {"size_bytes", reference.size_bytes},
              {"created", FormatTimeUtc(reference.created)},
              {"metadata", reference.metadata}};
}

void Output::Line(absl::string_view text) {
  if (stopped()) return;
  if (shares_terminal_) std::fputs("\r\x1b[K", stderr);  // wipe the progress line first
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fputc('\n', stdout) == EOF) {
    NoteError();
  }
}

void Output::Object(const Json& object) {
  // "replace": a path on this machine need not be UTF-8.
  Line(object.dump(-1, ' ', false, Json::error_handler_t::replace));
}

absl::Status Output::Flush() {
  errno = 0;
  if (!stopped() && std::fflush(stdout) != 0) NoteError();
  return status_;
}

void Output::NoteError() {
  if (errno == EPIPE) {
    closed_ = true;
  } else {
    status_ = absl::ErrnoToStatus(errno, "write standard output");
  }
  stopped_.store(true);
}

}  // namespace coffer::client::cli
