// SPDX-License-Identifier: Apache-2.0
//
// The built programs, as end-to-end tests run them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace coffer::testing {

// The digest of the empty blob.
inline constexpr char kEmptyHex[] = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

inline std::string ProgramPath(const std::string& name) { return std::string(COFFER_BIN_DIR) + "/" + name; }

// Runs `coffer` with the server in its environment.
inline ProcessResult RunCoffer(const std::string& server, std::vector<std::string> arguments,
                               ProcessOptions options = {}) {
  arguments.insert(arguments.begin(), ProgramPath("coffer"));
  options.environment.emplace("COFFER_SERVER", server);
  return RunProgram(arguments, options);
}

// A cofferd on a free port. Killed by the destructor.
class Cofferd {
 public:
  explicit Cofferd(const std::string& data, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {ProgramPath("cofferd"), "--data", data, "--listen", "127.0.0.1:0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    process_ = std::make_unique<Process>(arguments);
    const std::string words = "cofferd listening on ";
    if (!process_->WaitForOutput(words)) return;
    if (!process_->WaitForOutput("\n")) return;
    const std::string output = process_->Output();
    const size_t begin = output.find(words) + words.size();
    address_ = output.substr(begin, output.find_first_of(" \n", begin) - begin);
  }

  // Empty: it did not start.
  const std::string& address() const { return address_; }
  Process& process() { return *process_; }

 private:
  std::unique_ptr<Process> process_;
  std::string address_;
};

}  // namespace coffer::testing
