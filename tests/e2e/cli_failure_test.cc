// SPDX-License-Identifier: Apache-2.0
//
// The `coffer` program when something goes wrong or somebody interrupts: exit codes, messages, what is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "absl/time/clock.h"
#include "tests/e2e/cli_fixture.h"
#include "tests/support/latch.h"

namespace coffer::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CliFailureTest : public CliTest {};

TEST_F(CliFailureTest, ExitCodesFollowTheServersStatus) {
  WriteFile(directory_ / "f", "x");
  const std::vector<std::pair<grpc::StatusCode, int>> codes = {
      {grpc::StatusCode::INTERNAL, 1},          {grpc::StatusCode::UNIMPLEMENTED, 1},
      {grpc::StatusCode::INVALID_ARGUMENT, 2},  {grpc::StatusCode::DATA_LOSS, 3},
      {grpc::StatusCode::NOT_FOUND, 4},         {grpc::StatusCode::PERMISSION_DENIED, 5},
      {grpc::StatusCode::UNAUTHENTICATED, 5},   {grpc::StatusCode::UNAVAILABLE, 6},
      {grpc::StatusCode::RESOURCE_EXHAUSTED, 7}};
  const std::vector<std::pair<std::string, std::vector<std::string>>> calls = {
      {"Put", {"put", "f"}},   {"Get", {"get", "n"}},
      {"List", {"ls"}},        {"Stat", {"stat", "n"}},
      {"Delete", {"rm", "n"}}, {"Verify", {"verify", "--all"}},
      {"Status", {"status"}},  {"ListBuckets", {"bucket", "ls"}}};
  for (const auto& [code, exit_code] : codes) {
    for (const auto& [rpc, line] : calls) {
      // A retry of UNAVAILABLE takes a second; one command is enough for it.
      if (exit_code == 6 && rpc != "Put") continue;
      FailAlways(rpc, code, "the server's words");
      const ProcessResult result = Coffer(line);
      EXPECT_EQ(result.exit_code, exit_code) << rpc << " " << result.err;
      EXPECT_THAT(result.err, HasSubstr("the server's words"));
    }
  }
}

TEST_F(CliFailureTest, NoServerIsUnavailableAndTheOptionWinsOverTheEnvironment) {
  const ProcessResult result = Coffer({"status", "--server", "127.0.0.1:1"});
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_THAT(result.err, HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(Coffer({"status"}).exit_code, 0);
}

TEST_F(CliFailureTest, FilesThatMayNotBeReadOrWrittenHaveTheirCodes) {
  WriteFile(directory_ / "f", "x");
  server_.Add("n", "x");
  EXPECT_EQ(Coffer({"get", "n", "-o", "missing/out"}).exit_code, 4);
  EXPECT_EQ(Coffer({"get", "n", "-o", "."}).exit_code, 1);
  EXPECT_EQ(Coffer({"get", "n", "-o", "/dev/full"}).exit_code, 7);
  std::vector<std::string> line;
  if (::geteuid() == 0) {
    // Root may read everything, so somebody else has to try.
    line = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  }
  line.insert(line.end(), {ProgramPath("coffer"), "--server", server_.address()});
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), line.begin(), line.end());
    return RunProgram(arguments, {.directory = directory_.path()});
  };
  if (run({"--version"}).exit_code != 0) GTEST_SKIP() << "nobody may not run " << ProgramPath("coffer");
  std::filesystem::permissions(directory_ / "f", std::filesystem::perms(0));
  EXPECT_EQ(run({"put", "f"}).exit_code, 5);
  EXPECT_EQ(run({"get", "n", "-o", "/coffer-out"}).exit_code, 5);
}

TEST_F(CliFailureTest, AFullStandardOutputIsNoSpace) {
  server_.Add("n", "x");
  const std::string coffer = ProgramPath("coffer") + " --server " + server_.address();
  EXPECT_EQ(RunProgram({"/bin/sh", "-c", coffer + " ls > /dev/full"}).exit_code, 7);
  EXPECT_EQ(RunProgram({"/bin/sh", "-c", coffer + " get n > /dev/full"}).exit_code, 7);
}

TEST_F(CliFailureTest, AReaderThatGoesAwayEndsTheCommandQuietly) {
  for (int i = 0; i < 5000; ++i) server_.Add("name-that-is-rather-long-" + std::to_string(i), "x");
  server_.Add("large", std::string(10000000, 'x'));
  const std::string coffer = ProgramPath("coffer") + " --server " + server_.address();
  for (const std::string& command : {std::string(" ls"), std::string(" get large")}) {
    const ProcessResult result =
        RunProgram({"/bin/bash", "-c", "set -o pipefail; " + coffer + command + " | head -c 100"});
    EXPECT_EQ(result.exit_code, 141) << command;
    EXPECT_EQ(result.err, "") << command;
  }
}

TEST_F(CliFailureTest, WhatAReaderThatGoesAwayLeavesUndoneIsNotReportedOneByOne) {
  for (int i = 0; i < 3000; ++i) WriteFile(directory_ / ("tree/" + std::to_string(i)), "x");
  const std::string coffer = ProgramPath("coffer") + " --server " + server_.address();
  for (const std::string& command : {std::string(" put -r tree"), std::string(" get --prefix '' --to to")}) {
    const ProcessResult result = RunProgram({"/bin/bash", "-c", "set -o pipefail; " + coffer + command + " | head -1"},
                                            {.directory = directory_.path()});
    EXPECT_EQ(result.exit_code, 141) << command;
    EXPECT_EQ(result.err, "") << command;
  }
}

TEST_F(CliFailureTest, AClosedStandardDescriptorIsAnErrorAndGoesToNoSocket) {
  server_.Add("n", "x");
  const std::string coffer = ProgramPath("coffer") + " --server " + server_.address();
  const auto run = [&](const std::string& line) {
    return RunProgram({"/bin/sh", "-c", coffer + line}, {.directory = directory_.path()});
  };
  for (const std::string& line : {std::string(" get n >&-"), std::string(" ls >&-")}) {
    const ProcessResult result = run(line);
    EXPECT_EQ(result.exit_code, 1) << line;
    EXPECT_THAT(result.err, HasSubstr("write standard output: Bad file descriptor")) << line;
  }
  const ProcessResult put = run(" put -n closed - <&-");
  EXPECT_EQ(put.exit_code, 1);
  EXPECT_THAT(put.err, HasSubstr("standard input"));
  EXPECT_EQ(server_.Content("closed"), "(missing)");
  EXPECT_EQ(run(" get n -o out <&- >&- 2>&-").exit_code, 0);
  EXPECT_EQ(ReadFile(directory_ / "out"), "x");
}

TEST_F(CliFailureTest, InterruptedPutExits130) {
  Latch entered, release;
  server_.faults().before = [=](const std::string&) {
    entered.Open();
    release.Wait();
    return grpc::Status::OK;
  };
  WriteFile(directory_ / "f", "x");
  Process process({ProgramPath("coffer"), "--server", server_.address(), "put", directory_ / "f"});
  entered.Wait();
  process.Kill(SIGINT);
  const ProcessResult result = process.Wait();
  release.Open();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.err, "");
}

TEST_F(CliFailureTest, InterruptedGetExits130AndLeavesNoFile) {
  server_.Add("n", std::string(200000, 'x'));
  Latch entered, release;
  server_.faults().get_message = [=, messages = 0](v1::GetResponse&) mutable {
    if (++messages == 3) {
      entered.Open();
      release.Wait();
    }
    return true;
  };
  Process process({ProgramPath("coffer"), "--server", server_.address(), "get", "n", "-o", directory_ / "out"});
  entered.Wait();
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_THAT(Files("."), Not(IsEmpty())) << "the temporary file should be there by now";
  process.Kill(SIGINT);
  EXPECT_EQ(process.Wait().exit_code, 130);
  release.Open();
  EXPECT_THAT(Files("."), IsEmpty());
}

TEST_F(CliFailureTest, InterruptedWhileItReadsStandardInputExits130) {
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  // The shell holds the FIFO open for writing and writes nothing.
  Process process({"/bin/sh", "-c",
                   "exec 3<>" + (directory_ / "fifo") + "; exec " + ProgramPath("coffer") + " --server " +
                       server_.address() + " put - <" + (directory_ / "fifo")});
  absl::SleepFor(absl::Milliseconds(500));
  process.Kill(SIGINT);
  EXPECT_EQ(process.Wait(absl::Seconds(10)).exit_code, 130);
}

TEST_F(CliFailureTest, ProgressIsDrawnOnATerminalOnly) {
  server_.Add("n", std::string(200000, 'x'));
  server_.faults().get_message = [&](v1::GetResponse&) {
    absl::SleepFor(absl::Milliseconds(150));
    return true;
  };
  const std::string command = ProgramPath("coffer") + " --server " + server_.address() + " get n -o ";
  EXPECT_EQ(RunProgram({"/bin/sh", "-c", command + (directory_ / "a")}).err, "");
  // script(1) gives the command a terminal.
  if (!std::filesystem::exists("/usr/bin/script")) GTEST_SKIP() << "script(1) is missing";
  const ProcessResult result =
      RunProgram({"/usr/bin/script", "-qec", command + (directory_ / "b"), directory_ / "typescript"});
  EXPECT_THAT(result.out, HasSubstr("KiB of 195.3 KiB"));
  EXPECT_THAT(result.out, HasSubstr("ETA"));
}

TEST_F(CliFailureTest, ManySmallFilesAreSentAtTheSameTime) {
  for (int i = 0; i < 64; ++i) WriteFile(directory_ / ("tree/" + std::to_string(i)), std::to_string(i));
  std::atomic<int> now{0}, most{0};
  server_.faults().before = [&](const std::string&) {
    const int mine = ++now;
    for (int seen = most; seen < mine && !most.compare_exchange_weak(seen, mine);) {
    }
    absl::SleepFor(absl::Milliseconds(20));
    --now;
    return grpc::Status::OK;
  };
  EXPECT_EQ(Coffer({"put", "-r", "tree"}).exit_code, 0);
  EXPECT_GT(most, 4);
  EXPECT_LE(most, 16);
  most = 0;
  EXPECT_EQ(Coffer({"get", "--prefix", "", "--to", "to"}).exit_code, 0);
  EXPECT_GT(most, 4);
}

}  // namespace
}  // namespace coffer::testing
