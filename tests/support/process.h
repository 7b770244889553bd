// SPDX-License-Identifier: Apache-2.0
//
// Runs programs for tests: feeds their input, collects their output, sends signals.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/support/temporary_directory.h"

namespace coffer::testing {

struct ProcessOptions {
  // Written to its standard input, which is then closed. If not given: /dev/null.
  std::optional<std::string> input = {};
  // File for standard input instead of `input`; may be a FIFO.
  std::string input_path = {};
  // Working directory; empty: this process's own.
  std::string directory = {};
  // Added to the environment.
  std::map<std::string, std::string> environment = {};
};

struct ProcessResult {
  // The exit code; 128 + signal if a signal ended it; -1 if it had to be killed because it took too long.
  int exit_code = -1;
  std::string out;
  std::string err;
};

// One child process. Killed, if it still runs, by the destructor. Used by one thread.
class Process {
 public:
  // `arguments[0]` is the program. Output goes to unlinked temporary files, so no pipe can fill up.
  explicit Process(const std::vector<std::string>& arguments, const ProcessOptions& options = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  void Kill(int signal);
  // Waits for the end, for at most `timeout`, then kills.
  ProcessResult Wait(absl::Duration timeout = absl::Seconds(120));
  // What it has printed so far.
  std::string Output() const;
  // Waits until stdout contains `text`; false if it ends or `timeout` passes before.
  bool WaitForOutput(const std::string& text, absl::Duration timeout = absl::Seconds(30));

 private:
  bool Reap(bool block);

  pid_t pid_ = -1;
  int out_fd_ = -1;
  int err_fd_ = -1;
  std::optional<int> exit_code_;
};

// Runs to the end.
ProcessResult RunProgram(const std::vector<std::string>& arguments, const ProcessOptions& options = {});

using coffer::TemporaryDirectory;

// Makes the directories on the way as well.
void WriteFile(const std::string& path, const std::string& content);
// "(missing)" if it cannot be read.
std::string ReadFile(const std::string& path);

}  // namespace coffer::testing
