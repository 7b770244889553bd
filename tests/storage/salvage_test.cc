// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "storage/layout.h"
#include "storage/rocks/database.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/log_mark.h"
#include "storage/rocks/meta_rows.h"
#include "storage/rocks/offline.h"
#include "storage/rocks/row_mender.h"
#include "storage/rocks/rows.h"
#include "storage/rocks/start_up.h"
#include "tests/contract/contract_suite.h"
#include "tests/support/killed_copy.h"
#include "tests/support/temporary_directory.h"

namespace coffer {
namespace {

namespace fs = std::filesystem;
using rocks::LogExtent;
using ::testing::HasSubstr;

class SalvageTest : public testing::Test {
 protected:
  void Open() {
    absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({.data_dir = data_});
    ASSERT_TRUE(engine.ok()) << engine.status();
    store_ = StoreInProcess(*std::move(engine));
  }
  void Put(const std::string& name, const std::string& content, const std::string& bucket = "") {
    StoreUnderTest::PutCall call;
    call.options.name = name;
    call.options.bucket = bucket;
    ASSERT_TRUE(store_->Put(call, content).ok());
  }
  // As a kill would leave it.
  void Kill() {
    const std::string copy = directory_ / "copy";
    ASSERT_TRUE(CopyAsKilled(data_, copy));
    store_.reset();
    fs::remove_all(data_);
    fs::rename(copy, data_);
  }
  std::vector<LogExtent> Logs() { return *rocks::ListLogs(data_ + "/db"); }
  void Flip(const std::string& path, uint64_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  }
  uint64_t Findings() {
    const VerifyObserver observer{.progress = [](const VerifyProgress&) { return true; },
                                  .finding = [](const VerifyFinding& finding) { ADD_FAILURE() << finding.problem; }};
    return CheckStore({.data_dir = data_}, observer)->findings;
  }

  TemporaryDirectory directory_;
  const std::string data_ = directory_ / "data";
  std::unique_ptr<StoreUnderTest> store_;
  std::vector<std::string> losses_;
  const Notice loss_ = [this](const std::string& what) { losses_.push_back(what); };
};

TEST_F(SalvageTest, KeepsWhatIsBeforeTheDamageAndSaysWhatIsLost) {
  Open();
  for (int i = 0; i < 20; ++i) Put(absl::StrCat(i), RandomBytes(5000, i));
  const uint64_t damage = Logs().back().size_bytes;
  for (int i = 20; i < 40; ++i) Put(absl::StrCat(i), RandomBytes(5000, i));
  Kill();
  const std::string log = rocks::LogPath(data_ + "/db", Logs().back().number);
  Flip(log, damage + 100);
  const uint64_t log_bytes = fs::file_size(log);
  EXPECT_TRUE(absl::IsDataLoss(OpenRocksEngine({.data_dir = data_}).status()));
  const absl::StatusOr<Salvaged> salvaged = SalvageStore({.data_dir = data_}, loss_);
  ASSERT_TRUE(salvaged.ok()) << salvaged.status();
  EXPECT_EQ(salvaged->log_bytes, log_bytes - damage);
  EXPECT_THAT(losses_, testing::ElementsAre(HasSubstr(absl::StrCat("offset ", damage))));
  EXPECT_EQ(fs::file_size(data_ + "/salvaged/" + fs::path(log).filename().string()), log_bytes);
  EXPECT_EQ(Findings(), 0u);
  Open();
  EXPECT_EQ(store_->GetStatus().totals.references, 20u);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(store_->Stat({"", absl::StrCat(i)}).ok());
  Put("and", "on");
  EXPECT_TRUE(store_->VerifyAll()->empty());
}

TEST_F(SalvageTest, RefusesAHealthyStoreAndATornOne) {
  Open();
  Put("a", RandomBytes(5000, 1));
  Put("b", RandomBytes(5000, 2));
  Kill();
  EXPECT_TRUE(absl::IsFailedPrecondition(SalvageStore({.data_dir = data_}, loss_).status()));
  const std::string log = rocks::LogPath(data_ + "/db", Logs().back().number);
  fs::resize_file(log, fs::file_size(log) - 10);
  EXPECT_TRUE(absl::IsFailedPrecondition(SalvageStore({.data_dir = data_}, loss_).status()));
  EXPECT_TRUE(absl::IsNotFound(SalvageStore({.data_dir = directory_ / "none"}, loss_).status()));
  Open();
  EXPECT_TRUE(store_->Stat({"", "a"}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(SalvageStore({.data_dir = data_}, loss_).status())) << "it is served";
}

// Gathered content is flushed while the records that name it are in the log alone, and the log is damaged early: pieces
// without a record. Then the other way round.
TEST_F(SalvageTest, MakesFamiliesFitThatWereFlushedAtDifferentMoments) {
  Open();
  for (int i = 0; i < 10; ++i) Put(absl::StrCat(i), RandomBytes(50000, i));
  const uint64_t damage = Logs().back().size_bytes;
  for (int i = 10; i < 90; ++i) Put(absl::StrCat(i), RandomBytes(2 * kSegmentBytes, i), i % 2 == 0 ? "even" : "");
  Put("large", RandomBytes(20 * kSegmentBytes, 1), "late");
  ASSERT_TRUE(store_->Delete("", {"3", "11"}).ok());
  Kill();
  ASSERT_GT(Logs().size(), 1u);
  Flip(rocks::LogPath(data_ + "/db", Logs().front().number), damage + 100);
  ASSERT_TRUE(absl::IsDataLoss(OpenRocksEngine({.data_dir = data_}).status()));
  const absl::StatusOr<Salvaged> salvaged = SalvageStore({.data_dir = data_}, loss_);
  ASSERT_TRUE(salvaged.ok()) << salvaged.status();
  EXPECT_EQ(Findings(), 0u);
  Open();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(store_->Stat({"", absl::StrCat(i)}).ok()) << i;
  // Ids that pieces had are not given out again.
  for (int i = 10; i < 20; ++i) Put(absl::StrCat(i), RandomBytes(2 * kSegmentBytes, 1000 + i));
  EXPECT_TRUE(store_->VerifyAll()->empty());
  store_.reset();
  EXPECT_EQ(Findings(), 0u);
}

TEST_F(SalvageTest, ALostLogIsALossAsWell) {
  Open();
  for (int i = 0; i < 60; ++i) Put(absl::StrCat(i), RandomBytes(2 * kSegmentBytes, i));
  store_.reset();
  const std::vector<LogExtent> logs = Logs();
  ASSERT_GT(logs.size(), 1u);
  fs::remove(rocks::LogPath(data_ + "/db", logs[0].number));
  const absl::Status refused = OpenRocksEngine({.data_dir = data_}).status();
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("gone"));
  ASSERT_TRUE(SalvageStore({.data_dir = data_}, loss_).ok());
  EXPECT_EQ(Findings(), 0u);
  Open();
  EXPECT_TRUE(store_->VerifyAll()->empty());
}

// What families that were flushed at different moments may look like, all at once.
TEST_F(SalvageTest, EveryKindOfRowIsMended) {
  Open();
  for (int i = 0; i < 6; ++i) {
    Put(absl::StrCat(i), RandomBytes(100000, i));
    Put(absl::StrCat("again", i), RandomBytes(100000, i));
  }
  store_.reset();
  const auto digest = [](int i) { return DigestOf(RandomBytes(100000, i)); };
  {
    const auto database = *rocks::Database::Open(rocks::DatabaseDir(data_), nullptr);
    rocksdb::DB& db = database->db();
    const auto drop = [&](rocksdb::ColumnFamilyHandle* family, const std::string& key) {
      EXPECT_TRUE(db.Delete({}, family, key).ok());
    };
    drop(database->references(), rocks::ReferenceKey(1, "0"));       // the first back-link stays
    drop(database->references(), rocks::ReferenceKey(1, "again1"));  // a back-link row stays
    drop(database->links(), rocks::LinkKey(digest(2), 1, "again2"));
    drop(database->records(), std::string(digest(3).view()));
    drop(database->gathered(), rocks::PieceKey(5, RowId(0)));  // of blob 4
    EXPECT_TRUE(db.Put({}, database->gathered(), rocks::PieceKey(1000, RowId(0)), "nobody's").ok());
    EXPECT_TRUE(db.Put({}, database->meta(), "totals", rocks::EncodeTotals("totals", {})).ok());
    EXPECT_TRUE(db.Put({}, database->meta(), "next_content_id", rocks::EncodeNumber("next_content_id", 1)).ok());
    EXPECT_TRUE(db.Put({}, database->meta(), "next_bucket_id", rocks::EncodeNumber("next_bucket_id", 1)).ok());
  }
  std::ofstream(data_ + "/salvage.unfinished").close();
  const absl::StatusOr<Salvaged> salvaged = SalvageStore({.data_dir = data_}, loss_);
  ASSERT_TRUE(salvaged.ok()) << salvaged.status();
  EXPECT_EQ(salvaged->blobs_dropped, 1u);
  EXPECT_EQ(salvaged->references_dropped, 4u);
  EXPECT_EQ(losses_.size(), 5u);
  EXPECT_EQ(Findings(), 0u);
  Open();
  for (const char* name : {"again0", "1", "2", "again2", "5", "again5"})
    EXPECT_TRUE(store_->Stat({"", name}).ok()) << name;
  EXPECT_EQ(store_->GetStatus().totals.references, 6u);
  // What lost a reference is condemned, and goes if it has no other.
  EXPECT_EQ(store_->Collect(false)->blobs, 0u);
  ASSERT_TRUE(store_->Delete("", {"again0", "1"}).ok());
  EXPECT_EQ(store_->Collect(false)->blobs, 2u);
  Put("new", RandomBytes(100000, 77));
  Put("in-a-new-bucket", "content", "other");
  store_.reset();
  EXPECT_EQ(Findings(), 0u);
  const auto database = *rocks::Database::Open(rocks::DatabaseDir(data_), nullptr);
  const std::string next = **rocks::ReadRow(*database, database->meta(), "next_content_id");
  EXPECT_GT(*rocks::DecodeNumber("next_content_id", next), 1001u) << "ids are never given out again";
}

// The row that says that content is not published yet, or that it was erased, was flushed, and what came after it in
// that family was lost with the log; the record that says otherwise is there. The next start must not believe the row.
TEST_F(SalvageTest, KeepsContentThatARecordNamesAndAnOldNoteAsWell) {
  for (const uint64_t size : {2 * kSegmentBytes, 20 * kSegmentBytes}) {
    for (const bool is_erased : {false, true}) {
      if (!is_erased && size < 8 * kSegmentBytes) continue;
      const std::string content = RandomBytes(size, size + (is_erased ? 1 : 0));
      Open();
      Put("kept", content);
      const Digest digest = store_->Stat({"", "kept"})->digest;
      store_.reset();
      {
        const auto database = *rocks::Database::Open(rocks::DatabaseDir(data_), nullptr);
        const std::string value = **rocks::ReadRow(*database, database->records(), digest.view());
        const rocks::Record record = rocks::DecodeRecord(digest, value)->record;
        const std::string key = is_erased ? rocks::ErasedKey(record.content_id) : rocks::IntentKey(record.content_id);
        const std::string note = is_erased ? rocks::EncodeErased(key, {record.placement, record.size_bytes}) : "";
        rocksdb::WriteOptions options;
        ASSERT_TRUE(database->db().Put(options, database->meta(), key, note).ok());
        rocks::RowMender mender(*database, loss_);
        ASSERT_TRUE(mender.Run().ok());
      }
      Open();
      EXPECT_TRUE(store_->Stat({"", "kept"}).ok());
      EXPECT_TRUE(store_->VerifyAll()->empty()) << size << " " << is_erased;
      store_.reset();
      fs::remove_all(data_);
    }
  }
  EXPECT_TRUE(losses_.empty());
}

TEST_F(SalvageTest, AnUnfinishedSalvageKeepsTheStoreFromStarting) {
  Open();
  Put("a", "content");
  store_.reset();
  std::ofstream(data_ + "/salvage.unfinished").close();
  const absl::Status refused = OpenRocksEngine({.data_dir = data_}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("cofferd salvage"));
  ASSERT_TRUE(SalvageStore({.data_dir = data_}, loss_).ok());
  Open();
  EXPECT_TRUE(store_->Stat({"", "a"}).ok());
}

}  // namespace
}  // namespace coffer
