// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "storage/layout.h"
#include "storage/rocks/database.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/offline.h"
#include "storage/rocks/reference_rows.h"
#include "storage/rocks/start_up.h"
#include "tests/contract/contract_suite.h"
#include "tests/support/damage.h"
#include "tests/support/killed_copy.h"
#include "tests/support/temporary_directory.h"

namespace coffer {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Path, time and bytes of everything below a directory.
std::map<std::string, std::pair<fs::file_time_type, std::string>> Snapshot(const std::string& path) {
  std::map<std::string, std::pair<fs::file_time_type, std::string>> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path()] = {entry.last_write_time(), {std::istreambuf_iterator<char>(file), {}}};
  }
  return files;
}

class StoreCheckTest : public testing::Test {
 protected:
  void SetUp() override {
    Open();
    for (const size_t size : {size_t{0}, size_t{100}, size_t{50000}, 5 * kSegmentBytes, 20 * kSegmentBytes}) {
      Put(absl::StrCat(size), RandomBytes(size, size));
      Put(absl::StrCat("again-", size), RandomBytes(size, size));
    }
    // A first name that is gone, an overwritten name, an emptied bucket, garbage.
    EXPECT_TRUE(store_->Delete("", {"50000"}).ok());
    Put("100", RandomBytes(200, 1));
    Put("garbage", RandomBytes(3000, 9));
    EXPECT_TRUE(store_->Delete("", {"garbage"}).ok());
    EXPECT_TRUE(store_->CreateBucket("empty").ok());
    store_.reset();
  }
  void Open() {
    absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({.data_dir = data_});
    ASSERT_TRUE(engine.ok()) << engine.status();
    store_ = StoreInProcess(*std::move(engine));
  }
  void Put(const std::string& name, const std::string& content) {
    StoreUnderTest::PutCall call;
    call.options.name = name;
    ASSERT_TRUE(store_->Put(call, content).ok());
  }
  std::vector<std::string> Problems(CheckOptions options = {.data_dir = ""}) {
    options.data_dir = data_;
    std::vector<std::string> problems;
    const VerifyObserver observer{
        .progress = [](const VerifyProgress&) { return true; },
        .finding = [&](const VerifyFinding& finding) { problems.push_back(finding.problem); }};
    const absl::StatusOr<VerifyProgress> result = CheckStore(options, observer);
    EXPECT_TRUE(result.ok()) << result.status();
    if (result.ok()) {
      EXPECT_EQ(result->findings, problems.size());
      blobs_checked_ = result->blobs_checked;
    }
    return problems;
  }
  // Changes the database behind the store's back.
  void Change(const std::function<void(rocks::Database&)>& change) {
    absl::StatusOr<std::unique_ptr<rocks::Database>> database =
        rocks::Database::Open(rocks::DatabaseDir(data_), nullptr);
    ASSERT_TRUE(database.ok()) << database.status();
    change(**database);
  }

  TemporaryDirectory directory_;
  const std::string data_ = directory_ / "data";
  std::unique_ptr<StoreUnderTest> store_;
  uint64_t blobs_checked_ = 0;
};

TEST_F(StoreCheckTest, FindsNothingInASoundStoreAndChangesNoByte) {
  const auto before = Snapshot(data_);
  EXPECT_THAT(Problems(), ElementsAre());
  EXPECT_EQ(blobs_checked_, 7u);
  EXPECT_TRUE(Snapshot(data_) == before);
}

TEST_F(StoreCheckTest, SubsetsCoverEveryBlobOnce) {
  uint64_t blobs = 0;
  for (uint64_t subset = 1; subset <= 3; ++subset) {
    EXPECT_THAT(Problems({.data_dir = data_, .subset = subset, .subsets = 3}), ElementsAre());
    EXPECT_LT(blobs_checked_, 7u);
    blobs += blobs_checked_;
  }
  EXPECT_EQ(blobs, 7u);
}

TEST_F(StoreCheckTest, RefusesAServedDirectoryAndOneWithoutAStore) {
  Open();
  const VerifyObserver observer;
  const absl::Status served = CheckStore({.data_dir = data_}, observer).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(served)) << served;
  EXPECT_THAT(served.message(), HasSubstr(absl::StrCat(getpid())));
  EXPECT_TRUE(absl::IsNotFound(CheckStore({.data_dir = directory_ / "none"}, observer).status()));
  EXPECT_FALSE(fs::exists(directory_ / "none"));
}

TEST_F(StoreCheckTest, NamesDamagedContentByDigestAndRange) {
  const Digest digest = DigestOf(RandomBytes(20 * kSegmentBytes, 20 * kSegmentBytes));
  ASSERT_TRUE(DamagePiece(data_, digest, {3, 0, 2}, 5).ok());
  const std::vector<std::string> problems = Problems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0], HasSubstr(digest.ToHex()));
  EXPECT_THAT(problems[0], HasSubstr(absl::StrCat(3 * kSegmentBytes + 2 * kRowBytes)));
}

TEST_F(StoreCheckTest, NamesRowsThatDoNotFitEachOther) {
  const Digest digest = DigestOf(RandomBytes(50000, 50000));
  const std::string reference_key = rocks::ReferenceKey(1, "again-50000");
  const auto change_and_expect = [&](const std::string& expected,
                                     const std::function<void(rocks::Database&, rocksdb::DB&)>& change) {
    const std::string kept = directory_ / "kept";
    fs::remove_all(kept);
    fs::copy(data_, kept, fs::copy_options::recursive);
    Change([&](rocks::Database& database) { change(database, database.db()); });
    EXPECT_THAT(Problems(), testing::Contains(HasSubstr(expected)));
    fs::remove_all(data_);
    fs::copy(kept, data_, fs::copy_options::recursive);
  };
  change_and_expect("not stored", [&](auto& database, auto& db) {
    EXPECT_TRUE(db.Delete({}, database.records(), rocks::ToSlice(digest.view())).ok());
  });
  change_and_expect("has no back-link", [&](auto& database, auto& db) {
    EXPECT_TRUE(db.Delete({}, database.links(), rocks::LinkKey(digest, 1, "again-50000")).ok());
  });
  change_and_expect("does not stand for it", [&](auto& database, auto& db) {
    EXPECT_TRUE(db.Delete({}, database.references(), reference_key).ok());
  });
  // The first back-link, which is in the record.
  change_and_expect("does not stand for it", [&](auto& database, auto& db) {
    EXPECT_TRUE(db.Delete({}, database.references(), rocks::ReferenceKey(1, "0")).ok());
  });
  change_and_expect("does not stand for it", [&](auto& database, auto& db) {
    EXPECT_TRUE(db.Put({}, database.links(), rocks::LinkKey(digest, 1, "nobody"), "+").ok());
  });
  change_and_expect("the totals say", [&](auto& database, auto& db) {
    EXPECT_TRUE(db.Put({}, database.meta(), "totals", rocks::EncodeTotals("totals", {})).ok());
  });
  change_and_expect("may be given out again", [&](auto& database, auto& db) {
    EXPECT_TRUE(db.Put({}, database.meta(), "next_content_id", rocks::EncodeNumber("next_content_id", 2)).ok());
  });
  change_and_expect("belongs to no blob", [&](auto& database, auto& db) {
    EXPECT_TRUE(db.Put({}, database.gathered(), rocks::PieceKey(1000, RowId(0)), "piece").ok());
  });
  change_and_expect("is damaged", [&](auto& database, auto& db) {
    EXPECT_TRUE(db.Put({}, database.buckets(), "empty", "nonsense").ok());
  });
  change_and_expect("says 7 bytes", [&](auto& database, auto& db) {
    Reference reference{"", "again-50000", digest, 7, {}, absl::FromUnixSeconds(1)};
    EXPECT_TRUE(
        db.Put({}, database.references(), reference_key, rocks::EncodeReference(reference_key, reference)).ok());
  });
  EXPECT_THAT(Problems(), ElementsAre());
}

TEST_F(StoreCheckTest, NamesATableFileThatRotsBeneathTheCaches) {
  for (const auto& entry : fs::directory_iterator(data_ + "/db")) {
    if (entry.path().extension() != ".sst" || entry.file_size() < kSegmentBytes) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100000);
    file.put('\x5a');
    file.close();
    EXPECT_THAT(Problems(), testing::Contains(HasSubstr(entry.path().filename().string())));
    return;
  }
  FAIL() << "there is no large file";
}

TEST_F(StoreCheckTest, NamesADamagedLogAndAcceptsATornEnd) {
  const std::string killed = directory_ / "killed";
  Open();
  Put("last", RandomBytes(5000, 77));
  ASSERT_TRUE(CopyAsKilled(data_, killed));
  store_.reset();
  fs::remove_all(data_);
  fs::rename(killed, data_);
  std::string log;
  for (const auto& entry : fs::directory_iterator(data_ + "/db")) {
    if (entry.path().extension() == ".log" && entry.file_size() > 0) log = entry.path();
  }
  fs::resize_file(log, fs::file_size(log) - 10);
  const auto before = Snapshot(data_);
  EXPECT_THAT(Problems(), ElementsAre());
  EXPECT_TRUE(Snapshot(data_) == before);
  std::ofstream(data_ + "/log.mark", std::ios::trunc).close();
  EXPECT_THAT(Problems(), ElementsAre(HasSubstr("log.mark")));
}

}  // namespace
}  // namespace coffer
