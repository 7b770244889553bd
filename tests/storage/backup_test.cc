// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_checksum.h>
#include <rocksdb/file_system.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "storage/layout.h"
#include "storage/rocks/file_checksum.h"
#include "storage/rocks/offline.h"
#include "tests/contract/contract_suite.h"
#include "tests/support/temporary_directory.h"

namespace coffer {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A disk that takes its time to list a directory. A checkpoint lists the logs after it has taken the list of table
// files: what happens in between is in the log and not among the files.
class SlowListing : public rocksdb::FileSystemWrapper {
 public:
  SlowListing() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "SlowListing"; }
  rocksdb::IOStatus GetChildren(const std::string& path, const rocksdb::IOOptions& options,
                                std::vector<std::string>* names, rocksdb::IODebugContext* context) override {
    absl::SleepFor(absl::Milliseconds(delay_ms.load()));
    return FileSystemWrapper::GetChildren(path, options, names, context);
  }
  std::atomic<int> delay_ms = 0;
};

class BackupTest : public testing::Test {
 protected:
  void Open(const std::string& data) {
    store_.reset();
    absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({.data_dir = data, .env = env_.get()});
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = engine->get();
    store_ = StoreInProcess(*std::move(engine));
  }
  absl::Status Put(const std::string& name, const std::string& content) {
    StoreUnderTest::PutCall call;
    call.options.name = name;
    return store_->Put(call, content).status();
  }
  BackupSummary Backup(const std::string& name) {
    const absl::StatusOr<BackupSummary> backup = engine_->Backup(backups_, name);
    EXPECT_TRUE(backup.ok()) << name << ": " << backup.status();
    return backup.value_or(BackupSummary());
  }
  absl::StatusOr<Restored> Restore(const std::string& name, const std::string& data) {
    return RestoreStore(backups_ + "/" + name, {.data_dir = data});
  }

  TemporaryDirectory directory_;
  const std::string data_ = directory_ / "data";
  const std::string backups_ = directory_ / "backups";
  const std::shared_ptr<SlowListing> disk_ = std::make_shared<SlowListing>();
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(disk_);
  std::unique_ptr<StoreUnderTest> store_;
  Engine* engine_ = nullptr;
};

TEST(FileChecksum, IsTheDatabasesOwn) {
  const std::string bytes = RandomBytes(100001, 1);
  const auto ours = rocks::NewFileChecksumFactory()->CreateFileChecksumGenerator({});
  const auto theirs = rocksdb::GetFileChecksumGenCrc32cFactory()->CreateFileChecksumGenerator({});
  for (const auto& generator : {ours.get(), theirs.get()}) {
    generator->Update(bytes.data(), 1234);
    generator->Update(bytes.data() + 1234, bytes.size() - 1234);
    generator->Finalize();
  }
  EXPECT_EQ(ours->GetChecksum(), theirs->GetChecksum());
  EXPECT_STREQ(ours->Name(), theirs->Name());
}

TEST_F(BackupTest, RestoresToAStoreOfItsOwn) {
  Open(data_);
  const size_t sizes[] = {0, 100, 50000, 3 * kSegmentBytes, 20 * kSegmentBytes};
  for (const size_t size : sizes) ASSERT_TRUE(Put(absl::StrCat(size), RandomBytes(size, size)).ok());
  const BackupSummary backup = Backup("first");
  EXPECT_EQ(backup.blobs, 5u);
  EXPECT_GT(backup.written_bytes, 23 * kSegmentBytes);
  EXPECT_EQ(backup.shared_bytes, 0u);
  EXPECT_FALSE(fs::exists(data_ + "/checkpoint"));
  EXPECT_TRUE(absl::IsAlreadyExists(engine_->Backup(backups_, "first").status()));
  ASSERT_TRUE(Put("later", "later").ok());
  const std::string store_id = store_->GetStatus().store_id;

  const std::string restored_to = directory_ / "restored";
  const absl::StatusOr<Restored> restored = Restore("first", restored_to);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->blobs, 5u);
  EXPECT_NE(restored->store_id, store_id);
  Open(restored_to);
  EXPECT_EQ(store_->GetStatus().store_id, restored->store_id);
  EXPECT_EQ(store_->GetStatus().totals.references, 5u);
  EXPECT_TRUE(store_->VerifyAll()->empty());
  for (const size_t size : sizes)
    EXPECT_EQ(store_->Stat({"", absl::StrCat(size)})->digest, DigestOf(RandomBytes(size, size)));
  EXPECT_TRUE(absl::IsNotFound(store_->Stat({"", "later"}).status()));
  EXPECT_TRUE(Put("and", "on").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Restore("first", restored_to).status()));
  EXPECT_TRUE(absl::IsNotFound(Restore("none", directory_ / "other").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Restore("first", directory_.path()).status())) << "it is not empty";
}

TEST_F(BackupTest, SharesFilesAndOutlivesTheBackupThatItSharesThemWith) {
  Open(data_);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Put(absl::StrCat("large", i), RandomBytes(20 * kSegmentBytes, i)).ok());
  const BackupSummary first = Backup("first");
  ASSERT_TRUE(Put("more", RandomBytes(2 * kSegmentBytes, 100)).ok());
  const BackupSummary second = Backup("second");
  EXPECT_LT(second.written_bytes, first.written_bytes * 3 / 100);
  EXPECT_GE(second.shared_bytes, 200 * kSegmentBytes);
  fs::remove_all(backups_ + "/first");
  const BackupSummary third = Backup("third");
  EXPECT_GE(third.shared_bytes, 200 * kSegmentBytes) << "through the second one";
  store_.reset();
  fs::remove_all(data_);
  const absl::StatusOr<Restored> restored = Restore("second", data_);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->blobs, 11u);
}

TEST_F(BackupTest, ADamagedBackupIsNotRestored) {
  Open(data_);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Put(absl::StrCat(i), RandomBytes(20 * kSegmentBytes, i)).ok());
  Backup("b");
  int checked = 0;
  for (const auto& entry : fs::recursive_directory_iterator(backups_ + "/b")) {
    if (!entry.is_regular_file() || entry.file_size() == 0) continue;
    const auto flip = [&] {
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      const auto at = static_cast<std::streamoff>(entry.file_size() / 2);
      file.seekg(at);
      const char byte = static_cast<char>(file.get() ^ 1);
      file.seekp(at);
      file.put(byte);
    };
    flip();
    const absl::Status status = Restore("b", directory_ / "restored").status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << entry.path() << ": " << status;
    flip();
    ++checked;
  }
  EXPECT_GT(checked, 5);
  // A restore that failed left no store, and none is made there.
  const absl::Status refused = OpenRocksEngine({.data_dir = directory_ / "restored"}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_TRUE(Restore("b", directory_ / "restored").ok());
}

// Publishing, deleting and collecting under every backup: each one resolves.
TEST_F(BackupTest, EachOneResolvesWhateverGoesOn) {
  Open(data_);
  std::atomic<bool> done = false;
  std::atomic<int> puts = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !done; ++i) {
        const size_t size = t == 2 ? 3000 : 9 * kSegmentBytes;
        std::string content = RandomBytes(1000, t * 1000000 + i);
        content.resize(size, 'x');
        const absl::Status put = Put(absl::StrCat(t, "-", i), content);
        EXPECT_TRUE(put.ok()) << put;
        ++puts;
        EXPECT_TRUE(store_->Delete("", {absl::StrCat(t, "-", i - 4)}).ok());
      }
    });
  }
  threads.emplace_back([&] {
    while (!done) {
      EXPECT_TRUE(store_->Collect(false).ok());
      absl::SleepFor(absl::Milliseconds(20));
    }
  });
  disk_->delay_ms = 20;
  for (int i = 0; i < 12; ++i) Backup(absl::StrCat("backup", i));
  disk_->delay_ms = 0;
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(puts, 20);
  store_.reset();
  for (int i = 0; i < 12; i += 4) {
    const std::string restored = directory_ / absl::StrCat("restored", i);
    const absl::Status status = Restore(absl::StrCat("backup", i), restored).status();
    EXPECT_TRUE(status.ok()) << status;
    fs::remove_all(restored);
  }
}

// One writer puts name after name, and removes each some time later: a backup shows the names as they were after one of
// its steps, between the last that was acknowledged before the backup and the last that had begun before it ended.
TEST_F(BackupTest, IsTheStoreAsItWasAtAMomentDuringTheCall) {
  constexpr int kKept = 15;
  Open(data_);
  std::atomic<bool> done = false;
  std::atomic<int> begun = 0, acknowledged = 0;
  const auto names_after = [](int steps) {
    std::set<std::string> names;
    // Step 2i puts i, step 2i+1 removes i - kKept.
    for (int i = 0; 2 * i < steps; ++i) names.insert(absl::StrCat(i));
    for (int i = 0; 2 * i + 1 < steps; ++i) names.erase(absl::StrCat(i - kKept));
    return names;
  };
  std::thread writer([&] {
    for (int i = 0; !done; ++i) {
      ++begun;
      EXPECT_TRUE(Put(absl::StrCat(i), RandomBytes(i % 5 == 0 ? 9 * kSegmentBytes : 10000, i)).ok());
      ++acknowledged;
      ++begun;
      EXPECT_TRUE(store_->Delete("", {absl::StrCat(i - kKept)}).ok());
      ++acknowledged;
    }
  });
  struct Taken {
    int first, last;
  };
  std::vector<Taken> taken;
  // From the first put on there is a bucket to list.
  for (int i = 0; i < 6000 && acknowledged == 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  for (int i = 0; i < 5; ++i) {
    absl::SleepFor(absl::Milliseconds(100));
    const int first = acknowledged;
    Backup(absl::StrCat(i));
    taken.push_back({first, begun});
  }
  done = true;
  writer.join();
  store_.reset();
  for (int i = 0; i < 5; ++i) {
    const std::string restored = directory_ / absl::StrCat("restored", i);
    ASSERT_TRUE(Restore(absl::StrCat(i), restored).ok());
    Open(restored);
    std::set<std::string> names;
    const absl::StatusOr<ReferencePage> page = store_->List("", "", "", 10000);
    for (const Reference& reference : page->references) {
      names.insert(reference.name);
      const int number = std::stoi(reference.name);
      EXPECT_EQ(reference.digest, DigestOf(RandomBytes(number % 5 == 0 ? 9 * kSegmentBytes : 10000, number)));
    }
    bool was_so = false;
    for (int steps = taken[i].first; steps <= taken[i].last; ++steps) was_so = was_so || names == names_after(steps);
    EXPECT_TRUE(was_so) << "backup " << i << " between steps " << taken[i].first << " and " << taken[i].last;
    store_.reset();
    fs::remove_all(restored);
  }
}

}  // namespace
}  // namespace coffer
