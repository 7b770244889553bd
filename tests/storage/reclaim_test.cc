// SPDX-License-Identifier: Apache-2.0
//
// Space on the disk: that it comes back, and that files do not become many.
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "storage/layout.h"
#include "storage/rocks/database.h"
#include "storage/rocks/disk_space.h"
#include "storage/rocks/file_merger.h"
#include "storage/rocks/log_mark.h"
#include "storage/rocks/rocks_engine.h"
#include "storage/rocks/start_up.h"
#include "tests/contract/contract_suite.h"
#include "tests/support/damage.h"
#include "tests/support/temporary_directory.h"

namespace coffer {
namespace {

class Reclaim : public testing::Test {
 protected:
  void Open() {
    absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({directory_.path()});
    ASSERT_TRUE(engine.ok()) << engine.status();
    store_ = StoreInProcess(*std::move(engine));
  }
  void Put(const std::string& name, const std::string& content) {
    StoreUnderTest::PutCall call;
    call.options.name = name;
    ASSERT_TRUE(store_->Put(call, content).ok());
  }
  std::string Get(const std::string& name) {
    absl::StatusOr<std::unique_ptr<OpenRead>> read = store_->Open({"", name}, {});
    if (!read.ok()) return std::string(read.status().message());
    return ReadAll(**read).value_or("?");
  }
  uint64_t SortedFileBytes() {
    uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path() + "/db")) {
      if (entry.path().extension() == ".sst") bytes += entry.file_size();
    }
    return bytes;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<StoreUnderTest> store_;
};

constexpr uint64_t kLarge = 24 * kSegmentBytes;

TEST_F(Reclaim, LargeContentGivesItsSpaceBackAtOnce) {
  Open();
  for (int i = 0; i < 4; ++i) Put(absl::StrCat(i), RandomBytes(kLarge, i));
  EXPECT_GE(SortedFileBytes(), 4 * kLarge);
  ASSERT_TRUE(store_->Delete("", {"1", "2"}).ok());
  ASSERT_EQ(store_->Collect(false)->blobs, 2u);
  EXPECT_LE(SortedFileBytes(), 2 * kLarge + kSegmentBytes);
  EXPECT_TRUE(Get("0") == RandomBytes(kLarge, 0));
  EXPECT_TRUE(Get("3") == RandomBytes(kLarge, 3));
}

TEST_F(Reclaim, SmallContentGivesItsSpaceBackOnceThereIsMuch) {
  Open();
  constexpr size_t kSize = 60000;
  constexpr int kBlobs = 1500;
  std::vector<std::string> going;
  for (int i = 0; i < kBlobs; ++i) {
    Put(absl::StrCat(i), RandomBytes(kSize, i));
    if (i % 10 != 0) going.push_back(absl::StrCat(i));
  }
  for (size_t i = 0; i < going.size(); i += 500) {
    const size_t end = std::min(going.size(), i + 500);
    ASSERT_TRUE(store_->Delete("", {going.begin() + i, going.begin() + end}).ok());
  }
  ASSERT_EQ(store_->Collect(false)->blobs, going.size());
  const uint64_t live_bytes = (kBlobs - going.size()) * kSize;
  EXPECT_LE(SortedFileBytes(), live_bytes + live_bytes / 5);
  EXPECT_TRUE(Get("10") == RandomBytes(kSize, 10));
}

TEST_F(Reclaim, SpaceOfWhatIsReadComesBackWhenTheReaderHasGone) {
  Open();
  Put("read", RandomBytes(kLarge, 1));
  absl::StatusOr<std::unique_ptr<OpenRead>> read = store_->Open({"", "read"}, {});
  ASSERT_TRUE(read.ok());
  ASSERT_TRUE(store_->Delete("", {"read"}).ok());
  ASSERT_EQ(store_->Collect(false)->blobs, 1u);
  EXPECT_GE(SortedFileBytes(), kLarge);
  read->reset();
  ASSERT_TRUE(store_->Collect(false).ok());
  EXPECT_LT(SortedFileBytes(), kSegmentBytes);
}

TEST_F(Reclaim, WhatWasErasedWhileItWasReadGoesWithTheNextStart) {
  for (const uint64_t size : {uint64_t{11000}, 3 * kSegmentBytes, kLarge}) {
    Open();
    Put("read", RandomBytes(size, 1));
    absl::StatusOr<std::unique_ptr<OpenRead>> read = store_->Open({"", "read"}, {});
    ASSERT_TRUE(read.ok());
    ASSERT_TRUE(store_->Delete("", {"read"}).ok());
    ASSERT_EQ(store_->Collect(false)->blobs, 1u);
    read->reset();
    store_.reset();
    ASSERT_EQ(CountRows(directory_.path())->notes, 1u);
    ASSERT_GT(CountRows(directory_.path())->content, 0u);
    Open();
    store_.reset();
    EXPECT_EQ(CountRows(directory_.path())->notes, 0u);
    EXPECT_EQ(CountRows(directory_.path())->content, 0u);
  }
}

TEST_F(Reclaim, ALeaseOutlivesARestart) {
  Open();
  Put("name", RandomBytes(11000, 1));
  const Digest digest = DigestOf(RandomBytes(11000, 1));
  ASSERT_TRUE(store_->Lease("b", {digest}, absl::Hours(1)).ok());
  ASSERT_TRUE(store_->Delete("", {"name"}).ok());
  store_.reset();
  Open();
  EXPECT_EQ(store_->Collect(false)->blobs, 0u);
  EXPECT_TRUE(store_->FindMissing({digest})->empty());
  // Its end was not forgotten either.
  ASSERT_TRUE(store_->DeleteBucket("b").ok());
  EXPECT_EQ(store_->Collect(false)->blobs, 1u);
}

TEST_F(Reclaim, MaintenanceGoesOnBesideADamagedCondemnedRow) {
  Open();
  store_.reset();
  {
    const auto database = *rocks::Database::Open(rocks::DatabaseDir(directory_.path()), nullptr);
    ASSERT_TRUE(database->db().Put(rocksdb::WriteOptions(), database->condemned(), "no digest", "").ok());
  }
  Open();
  const auto mark = [&] { return rocks::ReadLogMark(directory_.path())->back().size_bytes; };
  const uint64_t before = mark();
  Put("a", "content");
  EXPECT_TRUE(absl::IsDataLoss(store_->Collect(false).status()));
  EXPECT_GT(mark(), before);
}

TEST_F(Reclaim, SmallFilesBecomeFewAndKeepTheirContent) {
  Open();
  constexpr int kBlobs = 9;
  for (int i = 0; i < kBlobs; ++i) Put(absl::StrCat(i), RandomBytes(9 * kSegmentBytes, i));
  store_.reset();
  const rocks::DiskSpace disk_space(
      directory_.path(), [] { return uint64_t{0}; }, [] {});
  {
    absl::StatusOr<std::unique_ptr<rocks::Database>> database =
        rocks::Database::Open(rocks::DatabaseDir(directory_.path()), nullptr);
    ASSERT_TRUE(database.ok());
    const auto files = [&] {
      rocksdb::ColumnFamilyMetaData family;
      (*database)->db().GetColumnFamilyMetaData((*database)->ingested(), &family);
      return family.file_count;
    };
    ASSERT_EQ(files(), static_cast<size_t>(kBlobs));
    ASSERT_TRUE(rocks::MergeSmallFiles(**database, disk_space, kBlobs).ok());
    EXPECT_EQ(files(), static_cast<size_t>(kBlobs)) << "they are not too many";
    ASSERT_TRUE(rocks::MergeSmallFiles(**database, disk_space, kBlobs - 1).ok());
    EXPECT_EQ(files(), 1u);
  }
  Open();
  for (int i = 0; i < kBlobs; ++i) EXPECT_TRUE(Get(absl::StrCat(i)) == RandomBytes(9 * kSegmentBytes, i));
  // From a file that they share, too, content goes alone.
  ASSERT_TRUE(store_->Delete("", {"0", "1", "2", "3", "5", "6", "7", "8"}).ok());
  ASSERT_EQ(store_->Collect(false)->blobs, kBlobs - 1u);
  EXPECT_TRUE(Get("4") == RandomBytes(9 * kSegmentBytes, 4));
  EXPECT_TRUE(store_->VerifyAll()->empty());
  store_.reset();
  EXPECT_EQ(CountRows(directory_.path())->content, 9u * kRowsPerSegment + 9 + 1);
}

}  // namespace
}  // namespace coffer
