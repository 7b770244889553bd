// SPDX-License-Identifier: Apache-2.0
//
// The `coffer` program with a server that does as the test says.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/programs.h"
#include "tests/support/fake_server.h"

namespace coffer::testing {

class CliTest : public ::testing::Test {
 protected:
  ProcessResult Coffer(const std::vector<std::string>& arguments, ProcessOptions options = {}) {
    options.directory = directory_.path();
    return RunCoffer(server_.address(), arguments, options);
  }
  void FailAlways(const std::string& rpc, grpc::StatusCode code, const std::string& message) {
    server_.faults().before = [=](const std::string& called) {
      return called == rpc ? grpc::Status(code, message) : grpc::Status::OK;
    };
  }
  // Regular files below the test's directory, relative.
  std::vector<std::string> Files(const std::string& below) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ / below)) {
      if (!entry.is_directory()) {
        files.push_back(std::filesystem::relative(entry.path(), directory_ / below).string());
      }
    }
    return files;
  }

  FakeServer server_;
  TemporaryDirectory directory_;
};

}  // namespace coffer::testing
