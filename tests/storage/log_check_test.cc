// SPDX-License-Identifier: Apache-2.0
//
// The log as a crash or a bad disk leaves it: a store is copied while it is open, as a kill would leave it, and its log
// is damaged then. The last batch counts as not acknowledged.
#include "storage/rocks/log_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "storage/layout.h"
#include "storage/rocks/crc32c.h"
#include "storage/rocks/log_mark.h"
#include "storage/rocks/rocks_engine.h"
#include "tests/contract/contract_suite.h"
#include "tests/support/killed_copy.h"
#include "tests/support/temporary_directory.h"

namespace coffer::rocks {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr size_t kPage = 4096;

TEST(Crc32c, IsTheOneOfTheStandard) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(ExtendCrc32c(Crc32c("1234"), "56789"), 0xe3069283u);
}

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A store whose log has a batch for each put.
class LogCheckTest : public testing::Test {
 protected:
  static constexpr int kPuts = 12;

  void Open() {
    absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({.data_dir = data_});
    ASSERT_TRUE(engine.ok()) << engine.status();
    store_ = StoreInProcess(*std::move(engine));
  }
  void Put(const std::string& name, const std::string& content) {
    StoreUnderTest::PutCall call;
    call.options.name = name;
    const absl::StatusOr<PutResult> put = store_->Put(call, content);
    ASSERT_TRUE(put.ok()) << put.status();
  }
  uint64_t LogBytes() const { return ListLogs(data_ + "/db")->back().size_bytes; }

  // Fills the store with puts, the last of `last_bytes`, and takes what a kill would leave.
  void Fill(size_t last_bytes, const std::string& last = "") {
    Open();
    for (int i = 0; i < kPuts; ++i) {
      begins_.push_back(LogBytes());
      const size_t bytes = i == kPuts - 1 ? last_bytes : 1000 + i * 7001;
      Put(absl::StrCat(i), i == kPuts - 1 && !last.empty() ? last : RandomBytes(bytes, i));
    }
    begins_.push_back(LogBytes());
    ASSERT_TRUE(CopyAsKilled(data_, killed_));
    log_path_ = LogPath(killed_ + "/db", ListLogs(killed_ + "/db")->back().number);
    log_ = ReadBytes(log_path_);
    store_.reset();
  }
  uint64_t LastBegin() const { return begins_[kPuts - 1]; }

  // What the check says of a log in place of the one that the kill left.
  std::optional<LogFault> Check(const std::string& log) {
    WriteBytes(log_path_, log);
    const absl::StatusOr<std::optional<LogFault>> fault = CheckLogs(killed_ + "/db", 0, {});
    EXPECT_TRUE(fault.ok()) << fault.status();
    return *fault;
  }
  bool IsTorn(const std::string& log) {
    const std::optional<LogFault> fault = Check(log);
    return fault.has_value() && fault->is_torn_end;
  }
  bool IsRefused(const std::string& log) {
    const std::optional<LogFault> fault = Check(log);
    return fault.has_value() && !fault->is_torn_end;
  }

  // Opens what the kill left, with that log, and finds all but the last put.
  void ExpectOpensWithoutTheLast(const std::string& log) {
    const std::string copy = directory_ / "opened";
    fs::remove_all(copy);
    fs::copy(killed_, copy, fs::copy_options::recursive);
    WriteBytes(copy + "/db/" + fs::path(log_path_).filename().string(), log);
    std::string notices;
    absl::StatusOr<std::unique_ptr<Engine>> engine =
        OpenRocksEngine({.data_dir = copy, .notice = [&](const std::string& notice) { notices += notice; }});
    ASSERT_TRUE(engine.ok()) << engine.status();
    EXPECT_THAT(notices, HasSubstr(absl::StrCat("offset ", LastBegin())));
    const std::unique_ptr<StoreUnderTest> store = StoreInProcess(*std::move(engine));
    EXPECT_EQ(store->GetStatus().totals.references, static_cast<uint64_t>(kPuts - 1));
    for (int i = 0; i < kPuts - 1; ++i) EXPECT_TRUE(store->Stat({"", absl::StrCat(i)}).ok()) << i;
    EXPECT_TRUE(store->VerifyAll()->empty());
    EXPECT_TRUE(store->Put({}, "and it goes on").ok());
  }

  TemporaryDirectory directory_;
  const std::string data_ = directory_ / "data";
  const std::string killed_ = directory_ / "killed";
  std::unique_ptr<StoreUnderTest> store_;
  // Where the batch of each put begins in the log, and where the last one ends.
  std::vector<uint64_t> begins_;
  std::string log_path_;
  std::string log_;
};

std::string Zeroed(std::string bytes, size_t begin, size_t end) {
  std::fill(bytes.begin() + static_cast<ptrdiff_t>(begin), bytes.begin() + static_cast<ptrdiff_t>(end), '\0');
  return bytes;
}

class TornEnd : public LogCheckTest, public testing::WithParamInterface<size_t> {};

TEST_P(TornEnd, OpensAtTheLastWholeBatchAndSaysSo) {
  Fill(GetParam());
  const uint64_t begin = LastBegin(), end = log_.size();
  EXPECT_FALSE(Check(log_).has_value());
  ExpectOpensWithoutTheLast(Zeroed(log_, begin, end));
  ExpectOpensWithoutTheLast(log_.substr(0, begin) + RandomBytes(end - begin, 9));
  ExpectOpensWithoutTheLast(log_.substr(0, (begin + end) / 2));
  const uint64_t page = begin / kPage * kPage;
  ExpectOpensWithoutTheLast(Zeroed(log_, begin, std::min(page + kPage, end)));
}

TEST_P(TornEnd, IsFoundHoweverItIsTorn) {
  Fill(GetParam());
  const uint64_t begin = LastBegin(), end = log_.size();
  for (uint64_t page = begin / kPage * kPage; page < end; page += kPage) {
    EXPECT_TRUE(IsTorn(Zeroed(log_, std::max(page, begin), std::min(page + kPage, end)))) << page;
    EXPECT_TRUE(IsTorn(Zeroed(log_, std::max(page, begin), end))) << page;
  }
  const uint64_t step = std::max<uint64_t>(1, (end - begin) / 50);
  for (uint64_t cut = begin + 1; cut < end; cut += step) {
    EXPECT_TRUE(IsTorn(log_.substr(0, cut))) << cut;
    std::string flipped = log_;
    flipped[cut] ^= 4;
    EXPECT_TRUE(IsTorn(flipped)) << cut;
    EXPECT_TRUE(IsTorn(log_.substr(0, cut) + RandomBytes(end - cut, cut))) << cut;
  }
  EXPECT_TRUE(IsTorn(log_ + std::string(10000, '\0')));
  EXPECT_TRUE(IsTorn(log_ + RandomBytes(10000, 1)));
  EXPECT_FALSE(Check(log_.substr(0, begin)).has_value());
}

TEST_P(TornEnd, DamageBeforeTheLastBatchIsRefused) {
  Fill(GetParam());
  const uint64_t begin = LastBegin();
  // A page that takes the whole last batch with it leaves nothing that could tell.
  for (uint64_t page = 0; page < begin && page + kPage < log_.size(); page += kPage) {
    EXPECT_TRUE(IsRefused(Zeroed(log_, page, page + kPage))) << page;
  }
  for (int i = 0; i < kPuts - 1; ++i) {
    // Checksum, both bytes of the length, type, what follows.
    for (const uint64_t byte : {0, 1, 4, 5, 6, 7, 15, 100}) {
      for (const int bit : {0, 3, 6, 7}) {
        std::string flipped = log_;
        flipped[begins_[i] + byte] ^= static_cast<char>(1 << bit);
        EXPECT_TRUE(IsRefused(flipped)) << "batch " << i << " byte " << byte << " bit " << bit;
      }
    }
  }
  for (uint64_t at = 0; at < begin; at += 1009) {
    std::string flipped = log_;
    flipped[at] ^= 32;
    const bool is_padding = at % 32768 > 32768 - 7;
    EXPECT_TRUE(IsRefused(flipped) || is_padding) << at;
  }
}

TEST_P(TornEnd, ARefusalNamesFileOffsetAndTheWayOn) {
  Fill(GetParam());
  log_[begins_[3] + 20] ^= 1;
  WriteBytes(log_path_, log_);
  const std::string before = ReadBytes(log_path_);
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = OpenRocksEngine({.data_dir = killed_}).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(log_path_));
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("offset ", begins_[3])));
    EXPECT_THAT(status.message(), HasSubstr("cofferd salvage"));
  }
  EXPECT_EQ(ReadBytes(log_path_), before);
}

// A batch within a block, one over the end of a block, and one over many.
INSTANTIATE_TEST_SUITE_P(Sizes, TornEnd, testing::Values(100, 40000, 300000));

TEST_F(LogCheckTest, ContentThatLooksLikeALogDoesNotKeepATornBatchFromBeingCut) {
  Open();
  for (int i = 0; i < 5; ++i) Put(absl::StrCat("seed", i), RandomBytes(3000, i));
  const std::string looks_like_a_log =
      ReadBytes(LogPath(data_ + "/db", ListLogs(data_ + "/db")->back().number)).substr(0, 12000);
  store_.reset();
  fs::remove_all(data_);
  Fill(0, looks_like_a_log);
  const uint64_t begin = LastBegin();
  EXPECT_TRUE(IsTorn(Zeroed(log_, begin, begin + 30)));
}

TEST_F(LogCheckTest, AStoreThatWasClosedNoticesAShortOrMissingLog) {
  Open();
  Put("a", RandomBytes(5000, 1));
  const uint64_t before_the_last = LogBytes();
  Put("b", RandomBytes(5000, 2));
  store_.reset();
  const LogExtent log = ListLogs(data_ + "/db")->back();
  const std::string path = LogPath(data_ + "/db", log.number);
  const std::string bytes = ReadBytes(path);
  std::string flipped = bytes;
  flipped[before_the_last + 50] ^= 1;
  for (const std::string& damaged :
       {bytes.substr(0, before_the_last), std::string(), flipped, bytes.substr(0, before_the_last + 100)}) {
    WriteBytes(path, damaged);
    const absl::Status status = OpenRocksEngine({.data_dir = data_}).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(path));
  }
  fs::remove(path);
  const absl::Status status = OpenRocksEngine({.data_dir = data_}).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("gone"));
  WriteBytes(path, bytes);
  Open();
  EXPECT_TRUE(store_->VerifyAll()->empty());
  EXPECT_EQ(store_->GetStatus().totals.references, 2u);
}

// Enough gathered content that its memtable is flushed again and again, while the older logs are still needed.
TEST_F(LogCheckTest, SeveralLogsAreCheckedAsOne) {
  Open();
  for (int i = 0; i < 100; ++i) Put(absl::StrCat(i), RandomBytes(2 * kSegmentBytes, i));
  ASSERT_TRUE(CopyAsKilled(data_, killed_));
  store_.reset();
  const std::string db = killed_ + "/db";
  const std::vector<LogExtent> logs = *ListLogs(db);
  ASSERT_GT(logs.size(), 2u);
  const std::string first = LogPath(db, logs[0].number), second = LogPath(db, logs[1].number);
  const std::string bytes = ReadBytes(second);
  const auto refusal = [&] {
    const absl::StatusOr<std::optional<LogFault>> fault = CheckLogs(db, 0, {});
    EXPECT_TRUE(fault.ok()) << fault.status();
    return fault->has_value() && !(*fault)->is_torn_end ? (*fault)->problem : "no refusal";
  };
  EXPECT_EQ(refusal(), "no refusal");
  fs::rename(second, second + ".away");
  EXPECT_THAT(refusal(), HasSubstr("a batch is missing"));
  fs::rename(second + ".away", second);
  // Cut off inside a batch; where one begins; and damaged in its last batch.
  fs::resize_file(second, bytes.size() - 1000);
  EXPECT_THAT(refusal(), HasSubstr("later log"));
  WriteBytes(second, "");
  EXPECT_THAT(refusal(), HasSubstr("a batch is missing"));
  std::string flipped = bytes;
  flipped[bytes.size() - 1000] ^= 1;
  WriteBytes(second, flipped);
  EXPECT_THAT(refusal(), HasSubstr("later log"));
  WriteBytes(second, bytes);
  EXPECT_EQ(refusal(), "no refusal");
  // A last log that is empty does not make the one before it less torn.
  for (size_t i = 2; i < logs.size(); ++i) fs::remove(LogPath(db, logs[i].number));
  WriteBytes(second, flipped);
  WriteBytes(LogPath(db, logs.back().number + 1), "");
  EXPECT_EQ(refusal(), "no refusal");
  // The first one is known to be needed by the mark alone.
  WriteBytes(second, bytes);
  fs::remove(LogPath(db, logs.back().number + 1));
  EXPECT_FALSE(CheckLogs(db, 0, {logs[0], logs[1]})->has_value());
  fs::remove(first);
  EXPECT_TRUE(CheckLogs(db, 0, {logs[0], logs[1]})->has_value());
  EXPECT_FALSE(CheckLogs(db, logs[1].number, {logs[0], logs[1]})->has_value()) << "it is flushed";
}

TEST_F(LogCheckTest, AStoreThatIsOpenedAgainAndAgainIsNeverRefused) {
  for (int round = 0; round < 8; ++round) {
    const std::string copy = directory_ / absl::StrCat("round", round);
    Open();
    for (int i = 0; i < 25; ++i) Put(absl::StrCat(round, "-", i), RandomBytes(3 * kSegmentBytes, round * 100 + i));
    if (round % 2 == 0) {
      ASSERT_TRUE(store_->Delete("", {absl::StrCat(round, "-0"), absl::StrCat(round, "-1")}).ok());
      ASSERT_TRUE(store_->Collect(false).ok());
    }
    Put("large", RandomBytes(9 * kSegmentBytes, round));
    ASSERT_TRUE(CopyAsKilled(data_, copy));
    store_.reset();
    const absl::Status killed = OpenRocksEngine({.data_dir = copy}).status();
    EXPECT_TRUE(killed.ok()) << killed;
    fs::remove_all(copy);
  }
}

TEST_F(LogCheckTest, ADamagedMarkIsToldAndNotBelieved) {
  Open();
  Put("a", "content");
  store_.reset();
  std::string mark = ReadBytes(data_ + "/log.mark");
  ASSERT_FALSE(mark.empty());
  mark[3] ^= 1;
  WriteBytes(data_ + "/log.mark", mark);
  std::string notices;
  const absl::StatusOr<std::unique_ptr<Engine>> engine =
      OpenRocksEngine({.data_dir = data_, .notice = [&](const std::string& notice) { notices += notice; }});
  EXPECT_TRUE(engine.ok()) << engine.status();
  EXPECT_THAT(notices, HasSubstr("log.mark"));
}

}  // namespace
}  // namespace coffer::rocks
