// SPDX-License-Identifier: Apache-2.0
#include "client/part_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/process.h"

namespace coffer::client {
namespace {

using testing::ReadFile;
using testing::TemporaryDirectory;
using testing::WriteFile;

class PartFileTest : public ::testing::Test {
 protected:
  std::unique_ptr<PartFile> Create(const std::string& name) {
    auto file = PartFile::Create(fd_.get(), name, directory_ / name);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }
  int Entries() {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory_.path())) ++count;
    return count;
  }

  TemporaryDirectory directory_;
  UniqueFd fd_{::open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY)};
};

TEST_F(PartFileTest, HasItsNameOnlyAfterCommit) {
  auto file = Create("f");
  ASSERT_TRUE(file->Write(BytesOf("abc")).ok());
  ASSERT_TRUE(file->Write(BytesOf("def")).ok());
  EXPECT_EQ(ReadFile(directory_ / "f"), "(missing)");
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(ReadFile(directory_ / "f"), "abcdef");
  file.reset();
  EXPECT_EQ(ReadFile(directory_ / "f"), "abcdef");
  EXPECT_EQ(Entries(), 1);
}

TEST_F(PartFileTest, LeavesNothingWithoutCommit) {
  WriteFile(directory_ / "f", "before");
  auto file = Create("f");
  ASSERT_TRUE(file->Write(BytesOf("abc")).ok());
  EXPECT_EQ(Entries(), 2);
  file.reset();
  EXPECT_EQ(Entries(), 1);
  EXPECT_EQ(ReadFile(directory_ / "f"), "before");
}

TEST_F(PartFileTest, ReplacesASymbolicLinkAndNotItsTarget) {
  WriteFile(directory_ / "target", "target");
  std::filesystem::create_symlink("target", directory_ / "f");
  auto file = Create("f");
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_FALSE(std::filesystem::is_symlink(directory_ / "f"));
  EXPECT_EQ(ReadFile(directory_ / "target"), "target");
}

TEST_F(PartFileTest, TellsThatADirectoryIsInItsPlace) {
  std::filesystem::create_directory(directory_ / "f");
  auto file = Create("f");
  EXPECT_FALSE(file->Commit().ok());
  file.reset();
  EXPECT_EQ(Entries(), 1);
}

TEST_F(PartFileTest, ReportsAFullDevice) {
  UniqueFd full(::open("/dev/full", O_WRONLY));
  EXPECT_EQ(WriteAll(full.get(), BytesOf("x"), "/dev/full").code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace coffer::client
