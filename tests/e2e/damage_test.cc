// SPDX-License-Identifier: Apache-2.0
//
// The show of what "checked" means: a stopped store is damaged in ways that no checksum of its database sees, and
// then a user asks for what is in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/e2e/cofferd_fixture.h"
#include "tests/support/samples.h"

namespace coffer::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kGroup = 16 * kKiB;

struct Damage {
  std::string name;
  uint64_t size_bytes;
  // OFFSET [SEGMENT LEVEL ROW] of damage_store.
  std::vector<std::string> place;
  // What is lost by it.
  uint64_t begin;
  uint64_t end;
};

// Every way in which content is stored, and every kind of row that it consists of.
const std::vector<Damage>& Damages() {
  static const auto* const damages = new std::vector<Damage>{
      {"inline", 1000, {"-1"}, 0, 1000},
      {"inline-last-group", 50000, {"-1"}, 3 * kGroup, 50000},
      {"inline-outboard", 60000, {"-60001"}, 0, 60000},
      {"gathered-row", 2 * kMiB, {"100", "1", "0", "0"}, kMiB, kMiB + kGroup},
      {"gathered-page", 2 * kMiB + 1, {"100", "1", "1", "0"}, kMiB, 2 * kMiB},
      {"streamed-row",
       9 * kMiB,
       {"20000", "2", "0", "3"},
       2 * kMiB + 192 * kKiB + kGroup,
       2 * kMiB + 192 * kKiB + 2 * kGroup},
      {"streamed-page", 9 * kMiB + 1, {"100", "2", "1", "0"}, 2 * kMiB, 3 * kMiB},
      {"streamed-top-page", 9 * kMiB + 2, {"10", "9", "2", "0"}, 0, 9 * kMiB + 2},
  };
  return *damages;
}

class DamageTest : public CofferdTest {
 protected:
  void Put(const std::string& name, const std::string& content) {
    WriteFile(directory_ / name, content);
    const ProcessResult put = Coffer({"put", name});
    ASSERT_EQ(put.exit_code, 0) << put.err;
  }
  void Stop() {
    server_->process().Kill(SIGTERM);
    ASSERT_EQ(server_->process().Wait().exit_code, 0);
  }
  ProcessResult DamageStore(const std::string& content, const std::vector<std::string>& place) {
    std::vector<std::string> arguments = {ProgramPath("damage_store"), directory_ / "data", DigestOf(content).ToHex()};
    arguments.insert(arguments.end(), place.begin(), place.end());
    return RunProgram(arguments);
  }
};

TEST_F(DamageTest, IsNamedAndNeverServed) {
  std::vector<std::string> contents;
  for (const Damage& damage : Damages()) {
    contents.push_back(RandomBytes(damage.size_bytes, damage.size_bytes));
    Put(damage.name, contents.back());
  }
  Put("sound", "sound");
  EXPECT_EQ(Coffer({"verify", "--all"}).exit_code, 0);
  // So that the server does not find it before the test does.
  ASSERT_EQ(Coffer({"scrub", "pause"}).exit_code, 0);
  Stop();
  for (size_t i = 0; i < contents.size(); ++i) {
    const ProcessResult done = DamageStore(contents[i], Damages()[i].place);
    ASSERT_EQ(done.exit_code, 0) << Damages()[i].name << ": " << done.err;
  }
  Start();

  // Until somebody meets the damage the rest is served.
  for (size_t i = 0; i < contents.size(); ++i) {
    const Damage& damage = Damages()[i];
    if (damage.begin > 0) {
      EXPECT_TRUE(Coffer({"get", damage.name, "--length", absl::StrCat(damage.begin)}).out ==
                  contents[i].substr(0, damage.begin));
    }
    if (damage.end < damage.size_bytes) {
      EXPECT_TRUE(Coffer({"get", damage.name, "--offset", absl::StrCat(damage.end)}).out ==
                  contents[i].substr(damage.end));
    }
  }
  const ProcessResult verified = Coffer({"verify", "--all"});
  EXPECT_EQ(verified.exit_code, 3);
  for (size_t i = 0; i < contents.size(); ++i) {
    const Damage& damage = Damages()[i];
    SCOPED_TRACE(damage.name);
    const std::string digest = DigestOf(contents[i]).ToHex();
    const std::string range = absl::StrCat("[", damage.begin, ", ", damage.end, ")");
    const ProcessResult to_file = Coffer({"get", damage.name, "-o", "out"});
    EXPECT_EQ(to_file.exit_code, 3);
    EXPECT_THAT(to_file.err, HasSubstr(digest));
    EXPECT_THAT(to_file.err, HasSubstr(range));
    EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));
    const ProcessResult to_stdout = Coffer({"get", damage.name});
    EXPECT_EQ(to_stdout.exit_code, 3);
    EXPECT_LE(to_stdout.out.size(), damage.begin);
    EXPECT_TRUE(to_stdout.out == contents[i].substr(0, to_stdout.out.size()));
    EXPECT_EQ(Coffer({"get", digest}).exit_code, 3);

    const ProcessResult one = Coffer({"verify", damage.name});
    EXPECT_EQ(one.exit_code, 3);
    const std::string place = absl::StrCat(digest, "  bytes ", range);
    EXPECT_THAT(one.out, HasSubstr(place));
    EXPECT_THAT(one.out, HasSubstr(absl::StrCat(damage.name, ": DAMAGED")));
    EXPECT_THAT(verified.out, HasSubstr(place));
  }
  EXPECT_EQ(Coffer({"get", "sound"}).out, "sound");
  EXPECT_EQ(Coffer({"verify", "sound"}).exit_code, 0);
  // What was found is set aside, and the same content under any name heals it.
  const auto scrub = nlohmann::json::parse(Coffer({"--json", "scrub", "status"}).out);
  EXPECT_EQ(scrub["quarantined_blobs"], contents.size());
  std::string sums;
  for (size_t i = 0; i < contents.size(); ++i) {
    WriteFile(directory_ / "again", contents[i]);
    EXPECT_EQ(Coffer({"put", "again"}).exit_code, 0);
    EXPECT_TRUE(Coffer({"get", Damages()[i].name}).out == contents[i]) << Damages()[i].name;
    sums += DigestOf(contents[i]).ToHex() + "  " + Damages()[i].name + "\n";
  }
  WriteFile(directory_ / "sums", sums);
  EXPECT_EQ(Coffer({"verify", "-c", "sums"}).exit_code, 0);
}

TEST_F(DamageTest, OfARecordIsNamedAndNeverServed) {
  const std::string small = RandomBytes(1000, 1), large = RandomBytes(9 * kMiB, 2);
  Put("small", small);
  Put("large", large);
  Stop();
  for (const std::string& content : {small, large}) ASSERT_EQ(DamageStore(content, {"1"}).exit_code, 0);
  Start();
  const ProcessResult verified = Coffer({"verify", "--all"});
  EXPECT_EQ(verified.exit_code, 3);
  for (const auto& [name, content] : {std::pair{"small", small}, std::pair{"large", large}}) {
    const std::string digest = DigestOf(content).ToHex();
    const ProcessResult got = Coffer({"get", name, "-o", "out"});
    EXPECT_EQ(got.exit_code, 3);
    EXPECT_THAT(got.err, HasSubstr(digest));
    EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));
    EXPECT_EQ(Coffer({"get", name}).out, "");
    EXPECT_THAT(verified.out, HasSubstr(digest));
  }
}

TEST_F(DamageTest, ToolRefusesWhatIsNoNumber) {
  Put("f", "content");
  Stop();
  for (const std::vector<std::string>& place : {std::vector<std::string>{"x"},
                                                {""},
                                                {"1x"},
                                                {"99999999999999999999"},
                                                {"0", "-1", "0", "0"},
                                                {"0", "0", "5", "0"},
                                                {"0", "0", "0", "16"},
                                                {"0", "4294967296", "0", "0"}}) {
    EXPECT_EQ(DamageStore("content", place).exit_code, 2) << place.back();
  }
  Start();
  EXPECT_EQ(Coffer({"get", "f"}).out, "content");
}

}  // namespace
}  // namespace coffer::testing
