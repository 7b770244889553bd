// SPDX-License-Identifier: Apache-2.0
//
// What an operator does with a store that nobody serves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/e2e/cofferd_fixture.h"
#include "tests/support/samples.h"

namespace coffer::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class OfflineTest : public CofferdTest {
 protected:
  void Put(const std::string& name, const std::string& content) {
    WriteFile(directory_ / name, content);
    const ProcessResult put = Coffer({"put", name});
    ASSERT_EQ(put.exit_code, 0) << put.err;
  }
  void Stop(int signal = SIGTERM) {
    server_->process().Kill(signal);
    (void)server_->process().Wait();
  }
  ProcessResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ProgramPath("cofferd"));
    return RunProgram(arguments);
  }
};

TEST_F(OfflineTest, CheckSaysWhatIsDamagedAndExitsWithThree) {
  const std::string content = RandomBytes(100000, 1);
  Put("a", content);
  Put("b", "sound");
  const std::string data = directory_ / "data";
  const ProcessResult served = Run({"check", "--data", data});
  EXPECT_EQ(served.exit_code, 1);
  EXPECT_THAT(served.err, HasSubstr(absl::StrCat("process ", server_->process().pid())));
  Stop();
  const ProcessResult sound = Run({"check", "--data", data});
  EXPECT_EQ(sound.exit_code, 0) << sound.out << sound.err;
  EXPECT_THAT(sound.out, HasSubstr("2 blobs, 100005 bytes checked, 0 findings"));
  ASSERT_EQ(RunProgram({ProgramPath("damage_store"), data, DigestOf(content).ToHex(), "100", "0", "0", "1"}).exit_code,
            0);
  const ProcessResult damaged = Run({"check", "--json", "--data", data});
  EXPECT_EQ(damaged.exit_code, 3);
  const json finding = json::parse(damaged.out.substr(0, damaged.out.find('\n')));
  EXPECT_EQ(finding["digest"], DigestOf(content).ToHex());
  EXPECT_EQ(finding["offset_bytes"], 65536);
  EXPECT_EQ(finding["length_bytes"], 16384);
  const json summary = json::parse(damaged.out.substr(damaged.out.find('\n')));
  EXPECT_EQ(summary["findings"], 1);
  EXPECT_EQ(Run({"check", "--data", data, "--subset", "0/3"}).exit_code, 2);
  EXPECT_EQ(Run({"check", "--data", directory_ / "none"}).exit_code, 1);
}

TEST_F(OfflineTest, ADamagedLogIsRefusedAndSalvaged) {
  const std::string data = directory_ / "data";
  for (int i = 0; i < 10; ++i) Put(absl::StrCat("f", i), RandomBytes(5000, i));
  Stop(SIGKILL);
  std::string log;
  for (const auto& entry : std::filesystem::directory_iterator(data + "/db")) {
    if (entry.path().extension() == ".log" && entry.file_size() > 0) log = entry.path();
  }
  std::string bytes = ReadFile(log);
  bytes[bytes.size() / 2] ^= 1;
  WriteFile(log, bytes);
  const ProcessResult refused = Run({"--data", data, "--listen", "127.0.0.1:0"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr(log));
  EXPECT_THAT(refused.err, HasSubstr("cofferd salvage"));
  const ProcessResult checked = Run({"check", "--data", data});
  EXPECT_EQ(checked.exit_code, 3);
  EXPECT_THAT(checked.out, HasSubstr(log));
  const ProcessResult salvaged = Run({"salvage", "--data", data});
  EXPECT_EQ(salvaged.exit_code, 0) << salvaged.err;
  EXPECT_THAT(salvaged.out, HasSubstr("lost: log " + log));
  EXPECT_EQ(Run({"salvage", "--json", "--data", data}).exit_code, 1);
  EXPECT_EQ(Run({"check", "--data", data}).exit_code, 0);
  Start();
  EXPECT_EQ(Coffer({"get", "f0"}).out, RandomBytes(5000, 0));
  EXPECT_EQ(Coffer({"verify", "--all"}).exit_code, 0);
}

TEST_F(OfflineTest, ABackupIsMadeWhileServingAndRestored) {
  Start({"--backup-dir", directory_ / "backups"});
  Put("a", RandomBytes(20 << 20, 1));
  Put("b", RandomBytes(5000, 2));
  const ProcessResult first = Coffer({"--json", "backup", "monday"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(json::parse(first.out)["blobs"], 2);
  Put("c", RandomBytes(5000, 3));
  const ProcessResult second = Coffer({"--json", "backup", "tuesday"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(json::parse(second.out)["blobs"], 3);
  EXPECT_GT(json::parse(second.out)["shared_bytes"], 20 << 20);
  EXPECT_LT(json::parse(second.out)["written_bytes"], 1 << 20);
  EXPECT_EQ(Coffer({"backup", "monday"}).exit_code, 1);
  EXPECT_EQ(Coffer({"backup", "../monday"}).exit_code, 2);
  const std::string store_id = Status()["store_id"];
  Stop();
  std::filesystem::remove_all(directory_ / "backups/monday");
  std::filesystem::remove_all(directory_ / "data");
  EXPECT_EQ(Run({"check", "--data", directory_ / "backups/tuesday"}).exit_code, 0);
  EXPECT_EQ(Run({"restore", "--from", directory_ / "backups/monday", "--data", directory_ / "data"}).exit_code, 1);
  const ProcessResult restored =
      Run({"restore", "--json", "--from", directory_ / "backups/tuesday", "--data", directory_ / "data"});
  ASSERT_EQ(restored.exit_code, 0) << restored.err;
  Start();
  EXPECT_EQ(Status()["store_id"], json::parse(restored.out)["store_id"]);
  EXPECT_NE(Status()["store_id"], store_id);
  EXPECT_TRUE(Coffer({"get", "a"}).out == RandomBytes(20 << 20, 1));
  EXPECT_EQ(Coffer({"verify", "--all"}).exit_code, 0);
  EXPECT_EQ(Coffer({"backup", "no-directory"}).exit_code, 1);
}

TEST_F(OfflineTest, ATornEndIsCutOffAndLogged) {
  Put("a", RandomBytes(5000, 1));
  Stop(SIGKILL);
  std::string log;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "data/db")) {
    if (entry.path().extension() == ".log" && entry.file_size() > 0) log = entry.path();
  }
  // What a write that was under way may leave.
  WriteFile(log, ReadFile(log) + RandomBytes(3000, 2));
  Start({"--log-file", directory_ / "log"});
  EXPECT_EQ(Coffer({"get", "a"}).out, RandomBytes(5000, 1));
  EXPECT_THAT(ReadFile(directory_ / "log"), HasSubstr("torn batch"));
}

}  // namespace
}  // namespace coffer::testing
