// SPDX-License-Identifier: Apache-2.0
//
// What `coffer` prints on stdout: b3sum lines, other text, or with --json one object a line.
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/client.h"

namespace coffer::client::cli {

// Members come out in the order in which they were set.
using Json = nlohmann::ordered_json;

// "DIGEST  NAME" as b3sum prints it and `b3sum -c` reads it: if the name has a newline or a backslash, these
// become \n and \\, and the line starts with a backslash.
std::string B3sumLine(const Digest& digest, absl::string_view name);

// RFC 3339, UTC.
std::string FormatTimeUtc(absl::Time time);

// "1.5 GiB"; plain bytes below 1 KiB.
std::string FormatBytes(uint64_t size_bytes);

Json JsonOf(const Reference& reference);

// Standard output, buffered. For one thread, but stopped().
class Output {
 public:
  explicit Output(bool shares_terminal_with_progress) : shares_terminal_(shares_terminal_with_progress) {}

  void Line(absl::string_view text);
  void Object(const Json& object);
  // Empties the buffer. OK also if the reader went away; see closed().
  absl::Status Flush();

  // The reader of the pipe has gone: nothing more can be said.
  bool closed() const { return closed_; }
  // Why a line could not be written, if not for that.
  const absl::Status& status() const { return status_; }
  // One of both is so. For any thread.
  bool stopped() const { return stopped_.load(); }

 private:
  void NoteError();

  const bool shares_terminal_;
  bool closed_ = false;
  absl::Status status_;
  std::atomic<bool> stopped_{false};
};

}  // namespace coffer::client::cli
