// SPDX-License-Identifier: Apache-2.0
#include "client/source.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/process.h"

namespace coffer::client {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryDirectory;
using testing::WriteFile;

std::string ReadAll(Source& source, size_t piece_bytes = 3) {
  std::string all;
  std::vector<uint8_t> buffer(piece_bytes);
  while (true) {
    const auto count = source.Read(absl::MakeSpan(buffer));
    if (!count.ok()) return count.status().ToString();
    if (*count == 0) return all;
    all.append(reinterpret_cast<const char*>(buffer.data()), *count);
  }
}

TEST(BufferSource, GivesAllBytesAgainAfterRewind) {
  BufferSource source(BytesOf("abcdefgh"));
  EXPECT_EQ(source.size_bytes(), 8u);
  EXPECT_EQ(ReadAll(source), "abcdefgh");
  ASSERT_TRUE(source.Rewind().ok());
  EXPECT_EQ(ReadAll(source), "abcdefgh");
}

TEST(FileSource, GivesAllBytesAgainAfterRewind) {
  TemporaryDirectory directory;
  WriteFile(directory / "f", "abcdefgh");
  auto source = FileSource::Open(directory / "f");
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->size_bytes(), 8u);
  EXPECT_EQ(ReadAll(**source), "abcdefgh");
  ASSERT_TRUE((*source)->Rewind().ok());
  EXPECT_EQ(ReadAll(**source), "abcdefgh");
}

TEST(FileSource, LeavesOutWhatIsAppendedMeanwhile) {
  TemporaryDirectory directory;
  WriteFile(directory / "f", "abcdefgh");
  auto source = FileSource::Open(directory / "f");
  WriteFile(directory / "f", "abcdefgh and more");
  EXPECT_EQ(ReadAll(**source), "abcdefgh");
}

TEST(FileSource, TellsThatTheFileBecameShorter) {
  TemporaryDirectory directory;
  WriteFile(directory / "f", "abcdefgh");
  auto source = FileSource::Open(directory / "f");
  ASSERT_EQ(::truncate((directory / "f").c_str(), 4), 0);
  EXPECT_THAT(ReadAll(**source), HasSubstr("became shorter while it was read: 4 of 8 bytes"));
}

TEST(FileSource, ReadsFilesOfProcThatSayTheyAreEmpty) {
  auto source = FileSource::Open("/proc/self/status");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->size_bytes(), std::nullopt);
  EXPECT_THAT(ReadAll(**source), HasSubstr("Name:"));
}

TEST(FileSource, APipeCannotBeRewound) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "abc", 3), 3);
  ::close(ends[1]);
  auto source = FileSource::FromFd(UniqueFd(ends[0]), "pipe");
  EXPECT_EQ((*source)->size_bytes(), std::nullopt);
  EXPECT_EQ(ReadAll(**source), "abc");
  EXPECT_EQ((*source)->Rewind().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(FileSource, StartsWhereADescriptorStandsAndIsNotRewoundThen) {
  TemporaryDirectory directory;
  WriteFile(directory / "f", "abcdefgh");
  UniqueFd fd(::open((directory / "f").c_str(), O_RDONLY));
  ::lseek(fd.get(), 5, SEEK_SET);
  auto source = FileSource::FromFd(std::move(fd), "f");
  EXPECT_EQ(ReadAll(**source), "fgh");
  EXPECT_FALSE((*source)->Rewind().ok());
}

TEST(FileSource, RefusesWhatIsNotAFileNamingIt) {
  TemporaryDirectory directory;
  EXPECT_EQ(FileSource::Open(directory / "missing").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(FileSource::Open(directory.path()).status().message()), HasSubstr(directory.path()));
  WriteFile(directory / "f", "x");
  std::filesystem::create_symlink("f", directory / "link");
  EXPECT_TRUE(FileSource::Open(directory / "link").ok());
  EXPECT_FALSE(FileSource::OpenRegular(directory / "link").ok());
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(FileSource::OpenRegular(directory / "fifo").ok());
}

}  // namespace
}  // namespace coffer::client
