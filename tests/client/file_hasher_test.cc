// SPDX-License-Identifier: Apache-2.0
#include "client/file_hasher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "hashing/subtree.h"
#include "tests/support/process.h"

namespace coffer::client {
namespace {

constexpr uint64_t kPart = 128 * 1024;

TEST(FileHasher, GivesTheDigestOfEverySizeOnAnyNumberOfThreads) {
  const testing::TemporaryDirectory directory;
  std::vector<uint64_t> sizes = {0, 1, 1024, FileHasher::kParallelBytes, FileHasher::kParallelBytes + 1};
  for (const uint64_t parts : {17, 18, 19, 31, 32, 33}) {
    for (const int delta : {-1, 0, 1, 20000}) sizes.push_back(parts * kPart + delta);
  }
  const std::string path = directory / "file";
  for (const uint64_t size : sizes) {
    std::string content(size, '\0');
    for (size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * 2654435761u >> 11);
    testing::WriteFile(path, content);
    for (const int threads : {1, 2, 5}) {
      FileHasher hasher(threads);
      std::atomic<int64_t> seen = 0;
      auto source = FileSource::Open(path);
      ASSERT_TRUE(source.ok());
      const auto digest = hasher.Hash(**source, [&](int64_t bytes) {
        seen += bytes;
        return true;
      });
      ASSERT_TRUE(digest.ok()) << digest.status();
      EXPECT_EQ(*digest, HashBlob(BytesOf(content))) << size << " on " << threads;
      EXPECT_EQ(seen, static_cast<int64_t>(size));
    }
  }
}

TEST(FileHasher, NamesAFileThatShrinks) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory / "shrinking";
  testing::WriteFile(path, std::string(32 * kPart, 'x'));
  auto source = FileSource::Open(path);
  ASSERT_TRUE(source.ok());
  std::filesystem::resize_file(path, 3 * kPart);
  FileHasher hasher(2);
  const absl::Status status = hasher.Hash(**source, [](int64_t) { return true; }).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find("shrinking"), absl::string_view::npos) << status;
}

TEST(FileHasher, StopsWhenTold) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory / "file";
  testing::WriteFile(path, std::string(256 * kPart, 'x'));
  auto source = FileSource::Open(path);
  ASSERT_TRUE(source.ok());
  FileHasher hasher(2);
  std::atomic<int> calls = 0;
  const absl::Status status = hasher.Hash(**source, [&](int64_t) { return ++calls < 3; }).status();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_LT(calls, 256);
}

}  // namespace
}  // namespace coffer::client
