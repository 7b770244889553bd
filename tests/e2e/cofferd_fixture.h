// SPDX-License-Identifier: Apache-2.0
//
// A `cofferd` with a store of its own, and `coffer` to talk to it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/programs.h"

namespace coffer::testing {

class CofferdTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(); }

  void Start(const std::vector<std::string>& more = {}) {
    server_.reset();
    server_ = std::make_unique<Cofferd>(directory_ / "data", more);
    ASSERT_NE(server_->address(), "") << server_->process().Wait(absl::Seconds(1)).err;
  }
  ProcessResult Coffer(const std::vector<std::string>& arguments, ProcessOptions options = {}) {
    options.directory = directory_.path();
    return RunCoffer(server_->address(), arguments, options);
  }
  nlohmann::json Status() { return nlohmann::json::parse(Coffer({"--json", "status"}).out); }
  // b3sum -c of `sums` in a directory of the test.
  ProcessResult Check(const std::string& sums, const std::string& directory) {
    ProcessOptions options;
    options.input = sums;
    options.directory = directory_ / directory;
    return RunProgram({"/usr/bin/b3sum", "-c", "--quiet", "-"}, options);
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Cofferd> server_;
};

}  // namespace coffer::testing
