// SPDX-License-Identifier: Apache-2.0
//
// The built `cofferd` and `coffer` together, as a user has them: store, restart, kill, refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/e2e/cofferd_fixture.h"
#include "tests/support/samples.h"

namespace coffer::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(CofferdTest, PrintsItsVersion) {
  EXPECT_EQ(RunProgram({ProgramPath("cofferd"), "--version"}).out, "cofferd 0.1.0\n");
}

TEST_F(CofferdTest, EveryBoundarySizeComesBack) {
  std::vector<std::string> line = {"put"};
  std::map<std::string, std::string> contents;
  for (size_t size : {0u,     1u,     63u,    64u,    65u,    1023u,    1024u,    1025u,    2048u,    16383u,  16384u,
                      16385u, 32768u, 65535u, 65536u, 65537u, 1048575u, 1048576u, 1048577u, 4194304u, 9000001u}) {
    const std::string name = "size-" + std::to_string(size);
    contents[name] = RandomBytes(size, size);
    WriteFile(directory_ / name, contents[name]);
    line.push_back(name);
  }
  const ProcessResult put = Coffer(line);
  ASSERT_EQ(put.exit_code, 0) << put.err;
  EXPECT_EQ(Check(put.out, ".").exit_code, 0);
  for (const auto& [name, content] : contents) {
    EXPECT_TRUE(Coffer({"get", name}).out == content) << name;
    if (content.size() < 2) continue;
    const size_t offset = content.size() / 3, length = content.size() / 2;
    EXPECT_TRUE(Coffer({"get", name, "--offset", std::to_string(offset), "--length", std::to_string(length)}).out ==
                content.substr(offset, length))
        << name;
  }
  EXPECT_EQ(Coffer({"verify", "--all"}).exit_code, 0);
}

TEST_F(CofferdTest, ATreeGoesInAndComesBackAndASecondPutStoresNothing) {
  for (int i = 0; i < 1000; ++i) {
    WriteFile(directory_ / ("tree/d" + std::to_string(i % 17) + "/f " + std::to_string(i)),
              RandomBytes(i % 5000, i / 2));
  }
  const ProcessResult put = Coffer({"put", "-r", "-b", "tree", "tree"});
  ASSERT_EQ(put.exit_code, 0) << put.err;
  const ProcessResult listed = Coffer({"ls", "-b", "tree"});
  EXPECT_EQ(std::count(listed.out.begin(), listed.out.end(), '\n'), 1000);
  EXPECT_EQ(Check(listed.out, "tree").exit_code, 0);
  const ProcessResult got = Coffer({"get", "-b", "tree", "--prefix", "", "--to", "back"});
  EXPECT_EQ(got.exit_code, 0) << got.err;
  EXPECT_EQ(RunProgram({"/usr/bin/diff", "-r", directory_ / "tree", directory_ / "back"}).exit_code, 0);
  const nlohmann::json before = Status();
  EXPECT_EQ(Coffer({"put", "-r", "-b", "tree", "tree"}).exit_code, 0);
  const nlohmann::json after = Status();
  EXPECT_EQ(before["content_bytes"], after["content_bytes"]);
  EXPECT_EQ(before["blobs"], after["blobs"]);
  EXPECT_EQ(after["puts_deduplicated"].get<int>(), before["puts_deduplicated"].get<int>() + 1000);
}

TEST_F(CofferdTest, OddNamesComeBack) {
  const std::vector<std::string> names = {"-dash", "a b", "[x,y]", "{}", "é€😀", "n\nl", "b\\s", "'q'", "..."};
  std::vector<std::string> line = {"put", "--"};
  for (const std::string& name : names) {
    WriteFile(directory_ / "in/" + name, name);
    line.push_back("in/" + name);
  }
  ASSERT_EQ(Coffer(line).exit_code, 0);
  for (const std::string& name : names) EXPECT_EQ(Coffer({"get", "--", name}).out, name);
  EXPECT_EQ(Check(Coffer({"ls"}).out, "in").exit_code, 0);
}

TEST_F(CofferdTest, MetadataNamesAndDigests) {
  ProcessOptions input;
  input.input = "";
  EXPECT_EQ(Coffer({"put", "-"}, input).out, std::string(kEmptyHex) + "  " + kEmptyHex + "\n");
  EXPECT_EQ(Coffer({"put", "-", "-n", "e", "--meta", "Color=red", "-b", "other"}, input).exit_code, 0);
  const auto stat = nlohmann::json::parse(Coffer({"--json", "stat", "-b", "other", "e"}).out);
  EXPECT_EQ(stat["metadata"], (nlohmann::json{{"color", "red"}}));
  EXPECT_EQ(stat["digest"], kEmptyHex);
  EXPECT_EQ(Coffer({"get", kEmptyHex}).exit_code, 0);
  EXPECT_EQ(Coffer({"rm", kEmptyHex}).exit_code, 0);
  EXPECT_EQ(Coffer({"ls"}).out, "");
  EXPECT_EQ(Coffer({"bucket", "ls"}).out, "default\nother\n");
  EXPECT_EQ(Coffer({"bucket", "rm", "other"}).exit_code, 0);
  EXPECT_EQ(Coffer({"bucket", "ls"}).out, "default\n");
}

TEST_F(CofferdTest, BadInputIsRefusedWithValueAndLimit) {
  WriteFile(directory_ / "f", "content");
  ProcessResult result = Coffer({"put", "-n", std::string(1025, 'n'), "f"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("1025"));
  EXPECT_THAT(result.err, HasSubstr("1024"));
  EXPECT_EQ(Coffer({"put", "-n", std::string(1024, 'n'), "f"}).exit_code, 0);
  result = Coffer({"get", ""});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  result = Coffer({"put", "-n", kEmptyHex, "f"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr(kEmptyHex));
  result = Coffer({"put", "--expect", kEmptyHex, "f"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr(kEmptyHex));
  result = Coffer({"put", "-b", "a/b", "f"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("a/b"));
  result = Coffer({"put", "-b", std::string(256, 'b'), "f"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("255"));
  EXPECT_EQ(Coffer({"put", "--meta", "a b=c", "f"}).exit_code, 2);
  EXPECT_EQ(Coffer({"put", "--meta", "k=" + std::string(1025, 'v'), "f"}).exit_code, 2);
  result = Coffer({"get", "missing"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.err, HasSubstr("missing"));
  EXPECT_EQ(Coffer({"get", std::string(64, '0')}).exit_code, 4);
  EXPECT_EQ(Coffer({"ls", "-b", "missing"}).exit_code, 4);
  EXPECT_EQ(Coffer({"get", std::string(1024, 'n'), "--offset", "8"}).exit_code, 2);
  EXPECT_EQ(Coffer({"get", std::string(1024, 'n'), "--offset", "7"}).out, "");
}

TEST_F(CofferdTest, ASecondServerIsRefusedAndNamesTheFirst) {
  const ProcessResult second =
      RunProgram({ProgramPath("cofferd"), "--data", directory_ / "data", "--listen", "127.0.0.1:0"});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, HasSubstr(std::to_string(server_->process().pid())));
}

TEST_F(CofferdTest, AnUnusableDataDirectoryIsRefused) {
  WriteFile(directory_ / "file", "x");
  const ProcessResult result =
      RunProgram({ProgramPath("cofferd"), "--data", directory_ / "file/data", "--listen", "127.0.0.1:0"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr(directory_ / "file"));
}

TEST_F(CofferdTest, ADirectoryOfOthersIsRefusedAndNotTouched) {
  WriteFile(directory_ / "others/letter.txt", "x");
  const ProcessResult result =
      RunProgram({ProgramPath("cofferd"), "--data", directory_ / "others", "--listen", "127.0.0.1:0", "--log-file",
                  directory_ / "others/log", "--pid-file", directory_ / "others/pid"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr(directory_ / "others"));
  EXPECT_THAT(result.err, HasSubstr("letter.txt"));
  const std::filesystem::directory_iterator entries(directory_ / "others");
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
  // A fresh filesystem is as good as an empty directory.
  std::filesystem::create_directories(directory_ / "fresh/lost+found");
  EXPECT_NE(Cofferd(directory_ / "fresh").address(), "");
}

TEST_F(CofferdTest, WhatItWritesIsForItsOwnerAlone) {
  Start({"--pid-file", directory_ / "pid", "--log-file", directory_ / "log"});
  namespace fs = std::filesystem;
  for (const std::string name : {"data", "data/db", "data/cofferd.lock", "pid", "log"}) {
    EXPECT_EQ(fs::status(directory_ / name).permissions() & fs::perms(077), fs::perms::none) << name;
  }
}

TEST_F(CofferdTest, ClosedStandardDescriptorsAreNotGivenToItsFiles) {
  server_.reset();
  Process server({"/bin/sh", "-c",
                  "exec " + ProgramPath("cofferd") + " --data " + (directory_ / "data") +
                      " --listen 127.0.0.1:0 --pid-file " + (directory_ / "pid") + " <&- >&- 2>&-"});
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!std::filesystem::exists(directory_ / "pid") && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(20));
  for (const char* fd : {"0", "1", "2"}) {
    EXPECT_EQ(std::filesystem::read_symlink("/proc/" + std::to_string(server.pid()) + "/fd/" + fd), "/dev/null");
  }
  // Its pid and nothing else: neither the address nor a line of the log.
  EXPECT_EQ(ReadFile(directory_ / "data/cofferd.lock"), ReadFile(directory_ / "pid"));
  server.Kill(SIGTERM);
  EXPECT_EQ(server.Wait(absl::Seconds(30)).exit_code, 0);
}

TEST_F(CofferdTest, StopsCleanlyAndKeepsEverything) {
  WriteFile(directory_ / "f", "content");
  for (int signal : {SIGTERM, SIGINT}) {
    Start({"--pid-file", directory_ / "pid", "--log-file", directory_ / "log"});
    EXPECT_EQ(std::stoi(ReadFile(directory_ / "pid")), server_->process().pid());
    ASSERT_EQ(Coffer({"put", "f"}).exit_code, 0);
    server_->process().Kill(signal);
    EXPECT_EQ(server_->process().Wait(absl::Seconds(30)).exit_code, 0);
    EXPECT_THAT(ReadFile(directory_ / "log"), Not(HasSubstr("(missing)")));
  }
  Start();
  EXPECT_EQ(Coffer({"get", "f"}).out, "content");
}

TEST_F(CofferdTest, ADisconnectedPutLeavesNothing) {
  WriteFile(directory_ / "large", RandomBytes(64 << 20, 7));
  ProcessOptions options;
  options.environment["COFFER_SERVER"] = server_->address();
  // The FIFO never ends, so the put is under way when it is killed.
  const std::string put = "(cat large; sleep 60) | exec " + ProgramPath("coffer") + " put - -n partial";
  options.directory = directory_.path();
  Process process({"/bin/sh", "-c", "exec setsid sh -c 'echo $$ > pgid; " + put + "'"}, options);
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (Status()["staging_bytes"] == 0 && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(20));
  EXPECT_NE(Status()["staging_bytes"], 0);
  ::kill(-std::stoi(ReadFile(directory_ / "pgid")), SIGKILL);
  while (Status()["staging_bytes"] != 0 && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(20));
  const nlohmann::json status = Status();
  EXPECT_EQ(status["staging_bytes"], 0);
  EXPECT_EQ(status["blobs"], 0);
  EXPECT_EQ(Coffer({"stat", "partial"}).exit_code, 4);
}

// Puts files until it is told to stop; every line that it prints is an acknowledged put.
TEST_F(CofferdTest, KilledInMidPutEverythingAcknowledgedIsThereAndNothingElse) {
  for (int i = 0; i < 400; ++i) {
    WriteFile(directory_ / ("tree/" + std::to_string(i)), RandomBytes(i % 40 == 0 ? 3000000 : 100 + i * 37, i));
  }
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    const std::string bucket = "round" + std::to_string(round);
    ProcessOptions options;
    options.directory = directory_.path();
    options.environment["COFFER_SERVER"] = server_->address();
    // stdbuf loads a library before the sanitizer's, which it otherwise refuses.
    options.environment["ASAN_OPTIONS"] = "verify_asan_link_order=0";
    Process put({"/usr/bin/stdbuf", "-oL", ProgramPath("coffer"), "put", "-r", "-b", bucket, "tree"}, options);
    const absl::Time deadline = absl::Now() + absl::Seconds(30);
    const auto acknowledged = [&] { return absl::StrSplit(put.Output(), '\n', absl::SkipEmpty()); };
    const auto count = [&] {
      const std::string output = put.Output();
      return std::count(output.begin(), output.end(), '\n');
    };
    while (count() < 20 * (round + 1) && put.running() && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    server_->process().Kill(SIGKILL);
    server_->process().Wait();
    put.Kill(SIGKILL);
    put.Wait();
    Start();
    // Acknowledged: there, and identical.
    EXPECT_GE(count(), 1);
    const std::string sums = put.Output();
    EXPECT_EQ(Check(sums, "tree").exit_code, 0);
    const ProcessResult listed = Coffer({"ls", "-b", bucket});
    for (absl::string_view line : acknowledged()) {
      EXPECT_THAT(listed.out, HasSubstr(std::string(line) + "\n"));
    }
    // Everything that is visible is whole, whether acknowledged or not.
    EXPECT_EQ(Check(listed.out, "tree").exit_code, 0);
    EXPECT_EQ(Coffer({"get", "-b", bucket, "--prefix", "", "--to", "back" + std::to_string(round)}).exit_code, 0);
    EXPECT_EQ(Check(listed.out, "back" + std::to_string(round)).exit_code, 0);
    EXPECT_EQ(Coffer({"verify", "--all"}).exit_code, 0);
    EXPECT_EQ(Status()["staging_bytes"], 0);
  }
}

// That a put under way bridges a restart is for client_test, which need not hope for a start in time.
TEST_F(CofferdTest, AStoppedServerIsUnavailableAndServesAgainOnTheSameAddress) {
  const std::string address = server_->address();
  WriteFile(directory_ / "f", "content");
  ASSERT_EQ(Coffer({"put", "f"}).exit_code, 0);
  server_->process().Kill(SIGTERM);
  server_->process().Wait();
  const ProcessResult refused = Coffer({"put", "-n", "g", "f"});
  EXPECT_EQ(refused.exit_code, 6);
  EXPECT_THAT(refused.err, HasSubstr(address));
  Process again({ProgramPath("cofferd"), "--data", directory_ / "data", "--listen", address});
  ASSERT_TRUE(again.WaitForOutput("cofferd listening on " + address));
  EXPECT_EQ(Coffer({"put", "-n", "g", "f"}).exit_code, 0);
  EXPECT_EQ(Coffer({"get", "f"}).out, "content");
  EXPECT_EQ(Coffer({"get", "g"}).out, "content");
}

TEST_F(CofferdTest, APythonClientMadeFromTheProtosWorks) {
  const ProcessResult result = RunProgram({"/usr/bin/python3", COFFER_SOURCE_DIR "/tests/e2e/python_client_test.py",
                                           COFFER_SOURCE_DIR "/proto", server_->address()});
  if (result.exit_code == 77) GTEST_SKIP() << result.err;
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_EQ(Coffer({"get", "from python"}).out, "hello from python");
}

}  // namespace
}  // namespace coffer::testing
