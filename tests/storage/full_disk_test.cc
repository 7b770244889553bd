// SPDX-License-Identifier: Apache-2.0
//
// A disk that is filled, by the store and by others: puts are refused before the database notices, everything else goes
// on, and puts go on when there is space again.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "storage/layout.h"
#include "storage/rocks/rocks_engine.h"
#include "tests/contract/contract_suite.h"
#include "tests/support/temporary_directory.h"

namespace coffer {
namespace {

// A small file system of its own, to be filled.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path) : path_(path) {
    std::filesystem::create_directories(path);
    mounted_ = mount("tmpfs", path.c_str(), "tmpfs", 0, "size=400m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount(path_.c_str());
  }
  bool mounted() const { return mounted_; }

 private:
  const std::string path_;
  bool mounted_;
};

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "mounting a tmpfs is not allowed here: " << std::strerror(errno);
  }
  std::unique_ptr<Engine> Open() {
    absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({.data_dir = data_, .keeps_ballast = true});
    EXPECT_TRUE(engine.ok()) << engine.status();
    return engine.ok() ? *std::move(engine) : nullptr;
  }
  absl::Status Put(const std::string& name, const std::string& content) {
    StoreUnderTest::PutCall call;
    call.options.name = name;
    return store_->Put(call, content).status();
  }
  absl::StatusOr<std::string> Get(const std::string& name) {
    absl::StatusOr<std::unique_ptr<OpenRead>> read = store_->Open({"", name}, {});
    if (!read.ok()) return read.status();
    return ReadAll(**read);
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "disk";
  const std::string data_ = path_ + "/data";
  const SmallDisk disk_{path_};
  std::unique_ptr<StoreUnderTest> store_;
};

TEST_F(FullDisk, RefusesPutsAndServesOn) {
  store_ = StoreInProcess(Open());
  absl::Status refused;
  int stored = 0;
  for (int i = 0; i < 200 && refused.ok(); ++i) {
    // Small, gathered and streamed ones in turn.
    refused = Put(absl::StrCat(i), RandomBytes((i % 3 * 6 + 1) * kSegmentBytes / 2, i));
    stored += refused.ok() ? 1 : 0;
  }
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused << " after " << stored;
  EXPECT_TRUE(absl::StrContains(refused.message(), absl::StrCat(store_->GetStatus().disk_low_water_bytes))) << refused;
  ASSERT_GT(stored, 10);
  for (int i = 0; i < stored; ++i) {
    EXPECT_TRUE(Get(absl::StrCat(i)).value_or("?") == RandomBytes((i % 3 * 6 + 1) * kSegmentBytes / 2, i)) << i;
  }
  EXPECT_EQ(store_->Delete("", {"0", "1"}).value_or(0), 2u);
  EXPECT_TRUE(absl::IsNotFound(Get("0").status()));
  store_.reset();
  store_ = StoreInProcess(Open());
  EXPECT_TRUE(store_->VerifyAll()->empty());
  EXPECT_TRUE(Get("2").ok());
  store_.reset();
}

TEST_F(FullDisk, UploadsUnderWayAreCountedTogether) {
  std::unique_ptr<Engine> engine = Open();
  // Each fits by itself.
  constexpr uint64_t kDeclaredBytes = uint64_t{200} << 20;
  absl::StatusOr<std::unique_ptr<Staging>> first = engine->Stage(kDeclaredBytes);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = engine->Stage(kDeclaredBytes).status();
  EXPECT_TRUE(absl::IsResourceExhausted(second)) << second;
  // What is written counts once.
  const std::string row = RandomBytes(kRowBytes, 1);
  for (uint64_t i = 0; i < kDeclaredBytes / kRowBytes; ++i) ASSERT_TRUE((*first)->Add(RowId(i), row).ok()) << i;
  EXPECT_TRUE(absl::IsResourceExhausted(engine->Stage(kDeclaredBytes).status()));
  EXPECT_TRUE(engine->Stage(kDeclaredBytes / 4).ok());
  first->reset();
  EXPECT_TRUE(engine->Stage(kDeclaredBytes).ok());
  engine.reset();
}

// Writes until nothing fits any more.
void FillDisk(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  const std::string block(4096, 'x');
  while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

TEST_F(FullDisk, DeletesAndCollectionWorkOnADiskThatOthersFilled) {
  std::unique_ptr<Engine> engine = Open();
  Engine& maintained = *engine;
  store_ = StoreInProcess(std::move(engine));
  ASSERT_TRUE(std::filesystem::exists(data_ + "/ballast"));
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(Put(absl::StrCat(i), RandomBytes(9 * kSegmentBytes, i)).ok());
  FillDisk(path_ + "/filler");
  EXPECT_TRUE(absl::IsResourceExhausted(Put("new", "new")));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(store_->Delete("", {absl::StrCat(i)}).value_or(0), 1u) << i;
  EXPECT_FALSE(std::filesystem::exists(data_ + "/ballast"));
  const absl::StatusOr<Erasure> erased = store_->Collect(false);
  EXPECT_EQ(erased.ok() ? erased->blobs : 0, 5u) << erased.status();
  EXPECT_TRUE(Get("5").value_or("?") == RandomBytes(9 * kSegmentBytes, 5));
  std::filesystem::remove(path_ + "/filler");
  EXPECT_TRUE(maintained.Maintain().ok());
  EXPECT_TRUE(std::filesystem::exists(data_ + "/ballast"));
  EXPECT_TRUE(Put("new", "new").ok()) << "without a restart";
  EXPECT_TRUE(store_->VerifyAll()->empty());
  store_.reset();
}

}  // namespace
}  // namespace coffer
