// SPDX-License-Identifier: Apache-2.0
//
// The disk that the crash tests stand on keeps what was synced, and nothing else for sure.
#include "tests/support/crashing_disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>

#include "tests/support/process.h"
#include "tests/support/temporary_directory.h"

namespace coffer {
namespace {

using Call = CrashingDisk::Call;
using rocksdb::IOOptions;

// Enough that every way to crash comes up.
constexpr uint64_t kSeeds = 60;

class Disk : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }

  rocksdb::FileSystem& files() { return *disk_.env()->GetFileSystem(); }
  std::string Path(const std::string& name) const { return root_ + "/" + name; }
  std::string Content(const std::string& name) const { return testing::ReadFile(Path(name)); }

  std::unique_ptr<rocksdb::FSWritableFile> Create(const std::string& name, bool direct = false) {
    rocksdb::FileOptions options;
    options.use_direct_writes = direct;
    std::unique_ptr<rocksdb::FSWritableFile> file;
    files().NewWritableFile(Path(name), options, &file, nullptr).PermitUncheckedError();
    return file;
  }
  void Write(const std::string& name, const std::string& synced, const std::string& unsynced) {
    std::unique_ptr<rocksdb::FSWritableFile> file = Create(name);
    ASSERT_NE(file, nullptr);
    EXPECT_TRUE(file->Append(synced, IOOptions(), nullptr).ok());
    EXPECT_TRUE(file->Sync(IOOptions(), nullptr).ok());
    EXPECT_TRUE(file->Append(unsynced, IOOptions(), nullptr).ok());
    EXPECT_TRUE(file->Close(IOOptions(), nullptr).ok());
  }
  void SyncRoot() {
    std::unique_ptr<rocksdb::FSDirectory> directory;
    ASSERT_TRUE(files().NewDirectory(root_, IOOptions(), &directory, nullptr).ok());
    EXPECT_TRUE(directory->Fsync(IOOptions(), nullptr).ok());
  }
  // Makes the directory what it was before `change`, does that and crashes, again and again.
  std::set<std::string> AfterCrashes(const std::function<void()>& before, const std::function<void()>& change,
                                     const std::function<std::string()>& look, const Leftovers& leftovers = {}) {
    std::set<std::string> seen;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      std::filesystem::remove_all(root_);
      std::filesystem::create_directories(root_);
      before();
      SyncRoot();
      change();
      disk_.LosePower();
      disk_.Restart(seed, leftovers);
      seen.insert(look());
    }
    return seen;
  }

  // On a real disk, which files in memory are not.
  const TemporaryDirectory directory_;
  const std::string root_ = directory_ / "root";
  CrashingDisk disk_{root_};
};

TEST_F(Disk, KeepsWhatWasSyncedAndAnyPartOfTheRest) {
  const auto logs = AfterCrashes([&] { Write("a.log", "synced", "-tail"); }, [] {}, [&] { return Content("a.log"); });
  EXPECT_TRUE(logs.contains("synced") && logs.contains("synced-tail") && logs.contains("synced-t"));
  for (const std::string& log : logs) EXPECT_EQ(std::string("synced-tail").substr(0, log.size()), log);
  bool is_scrambled = false;
  for (const std::string& table :
       AfterCrashes([&] { Write("a.sst", "synced", "-tail"); }, [] {}, [&] { return Content("a.sst"); })) {
    EXPECT_EQ(table.substr(0, 6), "synced");
    is_scrambled = is_scrambled || std::string("synced-tail").substr(0, table.size()) != table;
  }
  EXPECT_TRUE(is_scrambled);
}

TEST_F(Disk, UndoesUnsyncedEntriesOfADirectory) {
  const IOOptions options;
  const auto before = [&] {
    Write("old", "old", "");
    Write("gone", "gone", "");
  };
  const auto change = [&] {
    Write("new", "new", "");
    EXPECT_TRUE(files().RenameFile(Path("new"), Path("old"), options, nullptr).ok());
    EXPECT_TRUE(files().LinkFile(Path("old"), Path("linked"), options, nullptr).ok());
    EXPECT_TRUE(files().DeleteFile(Path("gone"), options, nullptr).ok());
  };
  const auto look = [&] {
    return Content("old") + " " + Content("new") + " " + Content("linked") + " " + Content("gone");
  };
  const std::set<std::string> in_order = {"old (missing) (missing) gone", "old new (missing) gone",
                                          "new (missing) (missing) gone", "new (missing) new gone",
                                          "new (missing) new (missing)"};
  EXPECT_EQ(AfterCrashes(before, change, look), in_order);
  EXPECT_GT(AfterCrashes(before, change, look, {.unordered_entries = true}).size(), in_order.size());
  const auto synced_change = [&] {
    change();
    SyncRoot();
  };
  EXPECT_EQ(AfterCrashes(before, synced_change, look), std::set<std::string>{"new (missing) new (missing)"});
}

TEST_F(Disk, ALinkIsNoSaferThanTheFile) {
  const auto change = [&] {
    Write("staged.log", "", "tail");
    EXPECT_TRUE(files().LinkFile(Path("staged.log"), Path("ingested.log"), IOOptions(), nullptr).ok());
    SyncRoot();
  };
  const auto seen = AfterCrashes([] {}, change, [&] { return Content("ingested.log"); });
  EXPECT_TRUE(seen.contains("") && seen.contains("tail") && seen.contains("ta"));
}

TEST_F(Disk, FollowsDirectWrites) {
  constexpr size_t kPage = 4096;
  const std::unique_ptr<char, decltype(&std::free)> page(static_cast<char*>(std::aligned_alloc(kPage, kPage)),
                                                         std::free);
  std::fill_n(page.get(), kPage, 'x');
  if (Create("probe", true) == nullptr) GTEST_SKIP() << "this file system has no direct writes";
  const rocksdb::Slice data(page.get(), kPage);
  const auto change = [&] {
    const std::unique_ptr<rocksdb::FSWritableFile> file = Create("a.log", true);
    ASSERT_NE(file, nullptr);
    EXPECT_TRUE(file->PositionedAppend(data, 0, IOOptions(), nullptr).ok());
    EXPECT_TRUE(file->Sync(IOOptions(), nullptr).ok());
    EXPECT_TRUE(file->PositionedAppend(data, kPage, IOOptions(), nullptr).ok());
    SyncRoot();
  };
  std::set<size_t> sizes;
  AfterCrashes([] {}, change,
               [&] {
                 sizes.insert(Content("a.log").size());
                 return "";
               });
  EXPECT_EQ(*sizes.begin(), kPage);
  EXPECT_EQ(*sizes.rbegin(), 2 * kPage);
  EXPECT_GT(sizes.size(), 2u);
}

TEST_F(Disk, AfterTheLossNothingChanges) {
  Write("a.log", "synced", "");
  SyncRoot();
  std::unique_ptr<rocksdb::FSWritableFile> file = Create("b.log");
  disk_.LosePowerAt({.call = Call::kDelete, .passing = 1});
  EXPECT_TRUE(files().DeleteFile(Path("b.log"), IOOptions(), nullptr).ok());
  EXPECT_FALSE(disk_.lost());
  EXPECT_FALSE(files().DeleteFile(Path("a.log"), IOOptions(), nullptr).ok());
  EXPECT_TRUE(disk_.lost());
  EXPECT_FALSE(file->Append("more", IOOptions(), nullptr).ok());
  EXPECT_FALSE(file->Sync(IOOptions(), nullptr).ok());
  EXPECT_EQ(Create("c.log"), nullptr);
  // Also what is done past the disk.
  std::filesystem::remove(Path("a.log"));
  file.reset();
  disk_.Restart(1);
  EXPECT_EQ(Content("a.log"), "synced");
  EXPECT_NE(Create("c.log"), nullptr);
}

TEST_F(Disk, FailsFromAChosenCallOn) {
  std::unique_ptr<rocksdb::FSWritableFile> file = Create("a.log");
  disk_.FailFrom({.call = Call::kSync, .suffix = ".log", .passing = 1}, rocksdb::IOStatus::NoSpace("planted"));
  EXPECT_TRUE(file->Sync(IOOptions(), nullptr).ok());
  EXPECT_TRUE(file->Sync(IOOptions(), nullptr).IsNoSpace());
  EXPECT_TRUE(file->Append("more", IOOptions(), nullptr).ok());
  EXPECT_TRUE(file->Sync(IOOptions(), nullptr).IsNoSpace());
  disk_.FailFrom({}, rocksdb::IOStatus::OK());
  EXPECT_TRUE(file->Sync(IOOptions(), nullptr).ok());
}

}  // namespace
}  // namespace coffer
