// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/staging_files.h"

#include <gtest/gtest.h>

#include "storage/rocks/durable_files.h"
#include "tests/contract/contract_suite.h"
#include "tests/support/temporary_directory.h"

namespace coffer::rocks {
namespace {

class StagingFiles : public testing::Test {
 protected:
  std::unique_ptr<rocksdb::WritableFile> New(const std::string& path) {
    std::unique_ptr<rocksdb::WritableFile> file;
    EXPECT_TRUE(env_->NewWritableFile(path, &file, rocksdb::EnvOptions()).ok());
    return file;
  }

  const TemporaryDirectory directory_;
  BufferStock stock_;
  const std::unique_ptr<rocksdb::Env> env_ = NewStagingEnv(rocksdb::Env::Default(), stock_);
};

TEST_F(StagingFiles, HoldWhatWasAppendedWhateverItsSize) {
  constexpr size_t kBuffer = BufferStock::kBufferBytes;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, kBuffer - 1, kBuffer, kBuffer + 1, 7 * kBuffer}) {
    const std::string content = RandomBytes(size, size);
    const std::string path = directory_ / std::to_string(size);
    const auto file = New(path);
    ASSERT_TRUE(file->Append(content).ok());
    ASSERT_TRUE(file->Sync().ok());
    EXPECT_TRUE(*ReadWholeFile(path) == content) << size;
    ASSERT_TRUE(file->Close().ok());
    EXPECT_TRUE(*ReadWholeFile(path) == content) << size;
  }
}

// The rest after the second buffer is as long as that before: it is another.
TEST_F(StagingFiles, GoOnAfterASync) {
  const std::string content = RandomBytes(BufferStock::kBufferBytes + 100, 1);
  const std::string path = directory_ / "file";
  const auto file = New(path);
  ASSERT_TRUE(file->Append(content.substr(0, 100)).ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Append(content.substr(100)).ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_TRUE(*ReadWholeFile(path) == content);
}

}  // namespace
}  // namespace coffer::rocks
