// SPDX-License-Identifier: Apache-2.0
//
// Names are hostile here: nothing may be written outside of the directory.
#include "client/cli/tree_writer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/process.h"

namespace coffer::client::cli {
namespace {

using testing::ReadFile;
using testing::TemporaryDirectory;
using testing::WriteFile;

TEST(CheckFileName, AcceptsOddNamesThatAreFiles) {
  for (const char* name :
       {"a", "a/b/c", "...", "..a", "a..", ".hidden", "-rf", " ", "a b", "a\nb", "a\\b", "ä/ö", "~", "C:x", "*"}) {
    EXPECT_TRUE(CheckFileName(name).ok()) << name;
  }
  EXPECT_TRUE(CheckFileName(std::string(255, 'x')).ok());
}

TEST(CheckFileName, RefusesWhatIsNoPathBelow) {
  for (const char* name :
       {"", "/", "/a", "a/", "a//b", ".", "..", "./a", "a/.", "a/./b", "../a", "a/..", "a/../b", "a/../../b", "//a"}) {
    EXPECT_EQ(CheckFileName(name).code(), absl::StatusCode::kFailedPrecondition) << name;
  }
  EXPECT_FALSE(CheckFileName(absl::string_view("a\0b", 3)).ok());
  EXPECT_FALSE(CheckFileName(std::string(256, 'x')).ok());
}

class TreeWriterTest : public ::testing::Test {
 protected:
  absl::Status Put(const std::string& name, const std::string& content) {
    auto writer = TreeWriter::Open(directory_ / "to");
    if (!writer.ok()) return writer.status();
    auto file = (*writer)->Create(name);
    if (!file.ok()) return file.status();
    if (absl::Status status = (*file)->Write(BytesOf(content)); !status.ok()) return status;
    return (*file)->Commit();
  }

  TemporaryDirectory directory_;
};

TEST_F(TreeWriterTest, MakesDirectoriesOnTheWay) {
  ASSERT_TRUE(Put("a/b/c", "x").ok());
  ASSERT_TRUE(Put("a/b/d", "y").ok());
  EXPECT_EQ(ReadFile(directory_ / "to/a/b/c"), "x");
  EXPECT_EQ(ReadFile(directory_ / "to/a/b/d"), "y");
}

TEST_F(TreeWriterTest, DoesNotFollowASymbolicLinkToADirectory) {
  std::filesystem::create_directories(directory_ / "to");
  std::filesystem::create_directories(directory_ / "outside");
  std::filesystem::create_symlink("../outside", directory_ / "to/link");
  const absl::Status status = Put("link/f", "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("to/link"), absl::string_view::npos) << status;
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "outside"));
}

TEST_F(TreeWriterTest, DoesNotWriteThroughASymbolicLinkToAFile) {
  WriteFile(directory_ / "outside", "outside");
  std::filesystem::create_directories(directory_ / "to");
  std::filesystem::create_symlink("../outside", directory_ / "to/f");
  ASSERT_TRUE(Put("f", "x").ok());
  EXPECT_EQ(ReadFile(directory_ / "outside"), "outside");
  EXPECT_EQ(ReadFile(directory_ / "to/f"), "x");
}

TEST_F(TreeWriterTest, TellsThatAFileIsInTheWayOfADirectoryAndTheOtherWayRound) {
  ASSERT_TRUE(Put("a", "x").ok());
  EXPECT_FALSE(Put("a/b", "y").ok());
  ASSERT_TRUE(Put("c/d", "x").ok());
  EXPECT_FALSE(Put("c", "y").ok());
  EXPECT_EQ(ReadFile(directory_ / "to/a"), "x");
  EXPECT_EQ(ReadFile(directory_ / "to/c/d"), "x");
}

TEST_F(TreeWriterTest, FollowsTheLinkThatTheUserNamed) {
  std::filesystem::create_directories(directory_ / "real");
  std::filesystem::create_symlink("real", directory_ / "to");
  ASSERT_TRUE(Put("f", "x").ok());
  EXPECT_EQ(ReadFile(directory_ / "real/f"), "x");
}

TEST_F(TreeWriterTest, RefusesAFileAsDirectory) {
  WriteFile(directory_ / "to", "x");
  EXPECT_FALSE(Put("f", "x").ok());
}

}  // namespace
}  // namespace coffer::client::cli
