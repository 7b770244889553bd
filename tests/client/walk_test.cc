// SPDX-License-Identifier: Apache-2.0
#include "client/cli/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/support/process.h"

namespace coffer::client::cli {
namespace {

using ::testing::ElementsAre;
using testing::TemporaryDirectory;
using testing::WriteFile;

class WalkTest : public ::testing::Test {
 protected:
  void Visit(const std::vector<std::string>& paths, bool recursive) {
    Walk(paths, recursive,
         {.file =
              [&](const Input& input) {
                names_.push_back(input.name);
                size_bytes_ += input.size_bytes;
                return names_.size() < stop_after_;
              },
          .skipped = [&](const std::string&) { ++skipped_; },
          .failed =
              [&](const std::string& path, const absl::Status& status) {
                failed_.push_back(path);
                code_ = status.code();
              }});
  }

  TemporaryDirectory directory_;
  std::vector<std::string> names_;
  std::vector<std::string> failed_;
  absl::StatusCode code_ = absl::StatusCode::kOk;
  size_t stop_after_ = 1000;
  int skipped_ = 0;
  uint64_t size_bytes_ = 0;
};

TEST_F(WalkTest, NamesAreRelativeAndInByteOrder) {
  WriteFile(directory_ / "b", "12");
  WriteFile(directory_ / "a/z", "345");
  WriteFile(directory_ / "a/\xc3\xa4", "6");
  WriteFile(directory_ / "B", "");
  Visit({directory_.path()}, true);
  EXPECT_THAT(names_, ElementsAre("B", "a/z", "a/\xc3\xa4", "b"));
  EXPECT_EQ(size_bytes_, 6u);
}

TEST_F(WalkTest, AFileHasItsBaseName) {
  WriteFile(directory_ / "x/y z", "1");
  Visit({directory_ / "x/y z", "-"}, false);
  EXPECT_THAT(names_, ElementsAre("y z", ""));
}

TEST_F(WalkTest, ADirectoryNeedsRecursive) {
  Visit({directory_.path()}, false);
  EXPECT_THAT(failed_, ElementsAre(directory_.path()));
  EXPECT_EQ(code_, absl::StatusCode::kInvalidArgument);
}

TEST_F(WalkTest, SkipsAndCountsWhatIsNoFile) {
  WriteFile(directory_ / "f", "1");
  std::filesystem::create_symlink("f", directory_ / "link");
  std::filesystem::create_symlink("/", directory_ / "root");
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  Visit({directory_.path()}, true);
  EXPECT_THAT(names_, ElementsAre("f"));
  EXPECT_EQ(skipped_, 3);
}

TEST_F(WalkTest, FollowsALinkThatIsGiven) {
  WriteFile(directory_ / "d/f", "1");
  std::filesystem::create_symlink("d", directory_ / "link");
  Visit({directory_ / "link"}, true);
  EXPECT_THAT(names_, ElementsAre("f"));
}

TEST_F(WalkTest, GoesOnAfterAFailure) {
  WriteFile(directory_ / "f", "1");
  Visit({directory_ / "missing", directory_ / "f"}, false);
  EXPECT_THAT(failed_, ElementsAre(directory_ / "missing"));
  EXPECT_EQ(code_, absl::StatusCode::kNotFound);
  EXPECT_THAT(names_, ElementsAre("f"));
}

TEST_F(WalkTest, StopsWhenTold) {
  for (const char* name : {"a", "b", "d/c", "e"}) WriteFile(directory_ / name, "");
  stop_after_ = 3;
  Visit({directory_.path(), directory_.path()}, true);
  EXPECT_THAT(names_, ElementsAre("a", "b", "d/c"));
}

}  // namespace
}  // namespace coffer::client::cli
