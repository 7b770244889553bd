// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/rocks_engine.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hashing/bytes.h"
#include "storage/layout.h"
#include "tests/contract/contract_suite.h"
#include "tests/support/damage.h"
#include "tests/support/temporary_directory.h"

namespace coffer {
namespace {

std::unique_ptr<Engine> OpenAt(const std::string& data_dir) {
  absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({data_dir});
  EXPECT_TRUE(engine.ok()) << engine.status();
  return engine.ok() ? *std::move(engine) : nullptr;
}

// A store in a directory that goes with it.
std::unique_ptr<StoreUnderTest> StoreInDirectory() {
  auto directory = std::make_shared<TemporaryDirectory>();
  return StoreInProcess(OpenAt(directory->path()), directory);
}

uint64_t BytesUnder(const std::string& path) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

class RocksStore : public testing::Test {
 protected:
  void Open() { store_ = StoreInProcess(OpenAt(directory_.path())); }
  void Close() { store_.reset(); }
  void Reopen() {
    Close();
    Open();
  }
  PutResult Put(const std::string& name, const std::string& content) {
    StoreUnderTest::PutCall call;
    call.options.name = name;
    absl::StatusOr<PutResult> put = store_->Put(call, content);
    EXPECT_TRUE(put.ok()) << put.status();
    return put.ok() ? *put : PutResult();
  }
  absl::StatusOr<std::string> Get(const std::string& name, ByteRange range = {}) {
    absl::StatusOr<std::unique_ptr<OpenRead>> read = store_->Open({"", name}, range);
    if (!read.ok()) return read.status();
    std::string all;
    while (true) {
      absl::StatusOr<std::string> piece = (*read)->Next(100000);
      if (!piece.ok()) return piece.status();
      if (piece->empty()) return all;
      all += *piece;
    }
  }

  TemporaryDirectory directory_;
  std::unique_ptr<StoreUnderTest> store_;
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Rocks, StoreContract, testing::Values(StoreFactory{"Rocks", StoreInDirectory}), StoreName);

TEST_F(RocksStore, KeepsEverythingAcrossRestarts) {
  Open();
  const size_t sizes[] = {0, 100, 50000, kRowBytes + 1, 5 * kSegmentBytes, 9 * kSegmentBytes};
  for (const size_t size : sizes) Put(absl::StrCat(size), RandomBytes(size, size));
  const EngineStatus before = store_->GetStatus();
  Reopen();
  for (const size_t size : sizes) EXPECT_TRUE(Get(absl::StrCat(size)).value_or("?") == RandomBytes(size, size)) << size;
  const EngineStatus after = store_->GetStatus();
  EXPECT_EQ(after.store_id, before.store_id);
  EXPECT_EQ(after.totals.blobs, before.totals.blobs);
  EXPECT_EQ(after.totals.content_bytes, before.totals.content_bytes);
  EXPECT_EQ(after.totals.references, before.totals.references);
  EXPECT_TRUE(store_->VerifyAll()->empty());
}

TEST_F(RocksStore, RefusesADirectoryInUseAndNamesTheHolder) {
  Open();
  const absl::Status second = OpenRocksEngine({directory_.path()}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_TRUE(absl::StrContains(second.message(), absl::StrCat(getpid()))) << second;
  EXPECT_TRUE(absl::StrContains(second.message(), directory_.path())) << second;
}

TEST_F(RocksStore, NamesADirectoryThatCannotBeMade) {
  std::ofstream(directory_.path() + "/file") << "not a directory";
  const absl::Status status = OpenRocksEngine({directory_.path() + "/file/data"}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "/file/data")) << status;
}

TEST_F(RocksStore, ASecondPutOfTheSameAddsNoContent) {
  Open();
  const std::string content = RandomBytes(40 * kSegmentBytes, 1);
  Put("first", content);
  const uint64_t before = BytesUnder(directory_.path());
  for (int i = 0; i < 5; ++i) Put(absl::StrCat("again-", i), content);
  EXPECT_LT(BytesUnder(directory_.path()), before + kSegmentBytes);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path() + "/staging"));
}

TEST_F(RocksStore, AnAbandonedUploadGivesItsSpaceBack) {
  Open();
  Put("seed", "seed");
  const uint64_t before = BytesUnder(directory_.path());
  StoreUnderTest::PutCall call;
  call.fail_after_bytes = 30 * kSegmentBytes;
  EXPECT_FALSE(store_->Put(call, RandomBytes(40 * kSegmentBytes, 2)).ok());
  EXPECT_LT(BytesUnder(directory_.path()), before + kSegmentBytes);
  EXPECT_EQ(store_->GetStatus().staging_bytes, 0u);
}

// Runs `work` in a child; gives its pid. This process must not have threads of the database, which a child would miss:
// so whatever opens the store does it in a child.
pid_t InChild(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  return child;
}

// Runs puts in a child that is killed in the middle of them; another one looks at what is left.
TEST_F(RocksStore, AfterAKillEveryAcknowledgedBlobIsWholeAndNothingElseIsVisible) {
  const auto content = [](int round, int i) {
    // Streamed, gathered and inline ones.
    const size_t size = i % 3 == 0 ? 12 * kSegmentBytes : i % 3 == 1 ? kSegmentBytes : 3000 * (i % 20);
    return RandomBytes(size, static_cast<uint64_t>(round) * 100000 + i);
  };
  int acknowledged_in_all = 0;
  for (int round = 0; round < 6; ++round) {
    int acknowledged[2];
    ASSERT_EQ(pipe(acknowledged), 0);
    const pid_t writer = InChild([&] {
      Open();
      for (int i = 0;; ++i) {
        Put(absl::StrCat(round, "-", i), content(round, i));
        if (write(acknowledged[1], &i, sizeof(i)) != sizeof(i)) _exit(1);
      }
    });
    close(acknowledged[1]);
    // The first put is waited for: a slow machine shall not make the round empty.
    int last = -1;
    ASSERT_EQ(read(acknowledged[0], &last, sizeof(last)), static_cast<ssize_t>(sizeof(last)));
    absl::SleepFor(absl::Milliseconds(20 + 45 * round));
    kill(writer, SIGKILL);
    waitpid(writer, nullptr, 0);
    for (int i; read(acknowledged[0], &i, sizeof(i)) == sizeof(i);) last = i;
    close(acknowledged[0]);
    acknowledged_in_all += last + 1;
    const pid_t checker = InChild([&] {
      Open();
      for (int i = 0; i <= last; ++i) {
        EXPECT_TRUE(Get(absl::StrCat(round, "-", i)).value_or("?") == content(round, i)) << round << "-" << i;
      }
      // The one that was under way is there as a whole or not at all.
      const std::string prefix = absl::StrCat(round, "-");
      const absl::StatusOr<ReferencePage> listed = store_->List("", prefix, "", 10000);
      ASSERT_TRUE(listed.ok()) << listed.status();
      for (const Reference& reference : listed->references) {
        const int i = std::stoi(reference.name.substr(prefix.size()));
        EXPECT_LE(i, last + 1);
        EXPECT_EQ(reference.digest, DigestOf(content(round, i)));
      }
      EXPECT_TRUE(store_->VerifyAll()->empty());
      Close();
      EXPECT_EQ(CountRows(directory_.path())->notes, 0u);
    });
    int exit_code = -1;
    waitpid(checker, &exit_code, 0);
    EXPECT_EQ(exit_code, 0) << "what the child said stands above";
  }
  // How many there are depends on the machine; each round had one.
  EXPECT_GE(acknowledged_in_all, 6);
}

TEST_F(RocksStore, StartFinishesWhatACrashLeft) {
  Open();
  Put("kept", RandomBytes(2 * kSegmentBytes, 1));
  StoreUnderTest::PutCall call;
  call.options.bucket = "going";
  for (int i = 0; i < 1200; ++i) {
    call.options.name = absl::StrCat(i);
    ASSERT_TRUE(store_->Put(call, "shared content").ok());
  }
  Close();
  const LeftRows before = *CountRows(directory_.path());
  ASSERT_TRUE(PlantUnpublishedContent(directory_.path(), 1000000).ok());
  ASSERT_TRUE(PlantHalfDeletedBucket(directory_.path(), "going").ok());
  ASSERT_EQ(CountRows(directory_.path())->notes, 2u);
  Open();
  EXPECT_TRUE(Get("kept").value_or("?") == RandomBytes(2 * kSegmentBytes, 1));
  EXPECT_EQ(store_->GetStatus().totals.references, 1u);
  EXPECT_EQ(store_->GetStatus().totals.referenced_bytes, 2 * kSegmentBytes);
  EXPECT_TRUE(absl::IsNotFound(store_->Resolve("going", "7").status()));
  Close();
  const LeftRows after = *CountRows(directory_.path());
  EXPECT_EQ(after.notes, 0u);
  EXPECT_EQ(after.references, 1u);
  EXPECT_EQ(after.content, before.content);
}

TEST_F(RocksStore, RefusesANewerFormatAndTouchesNothing) {
  Open();
  Put("kept", "content");
  Close();
  ASSERT_TRUE(SetFormat(directory_.path(), 7).ok());
  const std::string staged = directory_.path() + "/staging/of-the-newer-program";
  std::ofstream(staged) << "staged";
  const absl::Status status = OpenRocksEngine({directory_.path()}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "format 7")) << status;
  EXPECT_TRUE(std::filesystem::exists(staged));
  ASSERT_TRUE(SetFormat(directory_.path(), 1).ok());
  Open();
  EXPECT_EQ(Get("kept").value_or("?"), "content");
}

TEST_F(RocksStore, ADatabaseThatLostItsRootIsNotReplacedByAnEmptyOne) {
  Open();
  Put("kept", "content");
  Close();
  const std::string current = directory_.path() + "/db/CURRENT";
  std::filesystem::rename(current, current + ".lost");
  const absl::Status status = OpenRocksEngine({directory_.path()}).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), directory_.path())) << status;
  std::filesystem::rename(current + ".lost", current);
  Open();
  EXPECT_EQ(Get("kept").value_or("?"), "content");
}

TEST_F(RocksStore, AStoreThatWasHalfMadeIsMadeAgain) {
  std::filesystem::create_directories(directory_.path() + "/db.new");
  std::ofstream(directory_.path() + "/db.new/CURRENT") << "half";
  Open();
  Put("a", "b");
  Reopen();
  EXPECT_EQ(Get("a").value_or("?"), "b");
}

TEST_F(RocksStore, DamageInTheMiddleOfTheLogRefusesToStart) {
  Open();
  for (int i = 0; i < 50; ++i) Put(absl::StrCat(i), RandomBytes(5000, i));
  // As after a kill: nothing was flushed, so all of it is in the log alone.
  const std::string copy = directory_.path() + "-copy";
  std::filesystem::copy(directory_.path(), copy, std::filesystem::copy_options::recursive);
  Close();
  std::string log;
  for (const auto& entry : std::filesystem::directory_iterator(copy + "/db")) {
    if (entry.path().extension() == ".log" && entry.file_size() > 100000) log = entry.path();
  }
  ASSERT_FALSE(log.empty());
  std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(60000);
  file.put('\x55');
  file.close();
  const absl::Status status = OpenRocksEngine({copy}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  std::filesystem::remove_all(copy);
}

TEST_F(RocksStore, ALogThatWasCutInItsLastRecordOpens) {
  Open();
  for (int i = 0; i < 50; ++i) Put(absl::StrCat(i), RandomBytes(5000, i));
  const std::string copy = directory_.path() + "-copy";
  std::filesystem::copy(directory_.path(), copy, std::filesystem::copy_options::recursive);
  Close();
  for (const auto& entry : std::filesystem::directory_iterator(copy + "/db")) {
    if (entry.path().extension() == ".log" && entry.file_size() > 100000) {
      std::filesystem::resize_file(entry.path(), entry.file_size() - 100);
    }
  }
  store_ = StoreInProcess(OpenAt(copy));
  EXPECT_EQ(store_->GetStatus().totals.references, 49u);
  EXPECT_TRUE(store_->VerifyAll()->empty());
  Close();
  std::filesystem::remove_all(copy);
}

struct Damage {
  size_t size_bytes;
  // Negative level: the record.
  int level;
  uint32_t segment;
  uint8_t row;
  int64_t offset;
  ByteRange expected;
};

TEST_F(RocksStore, DamageThroughTheDatabaseIsDataLossWithDigestAndRange) {
  const uint64_t large = 9 * kSegmentBytes + 5;
  const Damage cases[] = {
      {500, -1, 0, 0, -1, {0, 500}},                                            // inline content
      {10000, -1, 0, 0, -1, {0, 10000}},                                        // a row without a tree
      {50000, -1, 0, 0, -1, {3 * kGroupBytes, 50000 - 3 * kGroupBytes}},        // the last group of a row
      {50000, -1, 0, 0, -50000 - 1, {0, 50000}},                                // the outboard in front of it
      {large, 0, 2, 3, 100, {2 * kSegmentBytes + 3 * kRowBytes, kGroupBytes}},  // row of content
      {large, 1, 2, 0, 100, {2 * kSegmentBytes, kSegmentBytes}},                // page of a segment
      {large, 2, 9, 0, 10, {0, large}},                                         // page above the segments
      {3 * kSegmentBytes, 0, 1, 0, 0, {kSegmentBytes, kGroupBytes}},            // gathered content
  };
  for (const Damage& damage : cases) {
    Open();
    const std::string content = RandomBytes(damage.size_bytes, damage.offset + 7);
    const PutResult put = Put("damaged", content);
    Close();
    const PieceId piece = {damage.segment, static_cast<uint8_t>(damage.level), damage.row};
    const absl::Status done = damage.level < 0 ? DamageSmall(directory_.path(), put.digest, damage.offset)
                                               : DamagePiece(directory_.path(), put.digest, piece, damage.offset);
    ASSERT_TRUE(done.ok()) << done;
    Open();
    const absl::Status status = Get("damaged").status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    const absl::StatusOr<BatchBlob> in_batch = store_->GetBatch({{"", put.digest}}).front();
    EXPECT_TRUE(absl::IsDataLoss(in_batch.status()) || damage.size_bytes > kMaxBatchBytes) << in_batch.status();
    const std::string range = absl::StrCat("[", damage.expected.offset_bytes, ", ",
                                           damage.expected.offset_bytes + damage.expected.length_bytes, ")");
    EXPECT_TRUE(absl::StrContains(status.message(), put.digest.ToHex())) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), range)) << status << " expected " << range;
    // What lies outside the damage is served; whatever is served is right.
    if (damage.expected.offset_bytes > 0) {
      EXPECT_EQ(Get("damaged", {0, 400}).value_or("?"), content.substr(0, 400));
    }
    absl::StatusOr<std::vector<VerifyFinding>> findings = store_->VerifyAll();
    ASSERT_TRUE(findings.ok());
    bool found = false;
    for (const VerifyFinding& finding : *findings) {
      found = found || (finding.digest == put.digest && finding.range.offset_bytes == damage.expected.offset_bytes);
    }
    EXPECT_TRUE(found) << range;
    Close();
  }
}

TEST_F(RocksStore, ADamagedRecordIsNamedAndTheSamePutHealsIt) {
  Open();
  const std::string content = RandomBytes(20000, 3);
  const PutResult put = Put("first", content);
  Put("second", content);
  Close();
  for (const int64_t offset : {0, 1, 2, 10, 18, 28}) {
    ASSERT_TRUE(DamageRecord(directory_.path(), put.digest, offset).ok());
    Open();
    const absl::Status status = Get("first").status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), put.digest.ToHex())) << status;
    EXPECT_EQ(store_->VerifyAll()->size(), 1u);
    Put("first", content);
    EXPECT_TRUE(Get("second").value_or("?") == content);
    EXPECT_EQ(store_->GetStatus().totals.blobs, 1u);
    EXPECT_EQ(store_->Delete("", {"first", "second"}).value_or(0), 2u);
    Put("first", content);
    Put("second", content);
    Close();
  }
}

TEST_F(RocksStore, ADamagedReferenceIsNamedAndHidesNoOther) {
  Open();
  Put("a", "first");
  const PutResult put = Put("b", "second");
  Put("c", "third");
  Close();
  ASSERT_TRUE(DamageReference(directory_.path(), "default", "b", 40).ok());
  Open();
  const absl::Status status = Get("b").status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "\"b\"")) << status;
  EXPECT_EQ(Get("c").value_or("?"), "third");
  absl::StatusOr<std::vector<VerifyFinding>> findings = store_->VerifyAll();
  ASSERT_TRUE(findings.ok());
  ASSERT_EQ(findings->size(), 1u);
  EXPECT_FALSE((*findings)[0].digest.has_value());
  EXPECT_TRUE(absl::StrContains((*findings)[0].problem, "\"b\""));
  // Putting the name again heals it.
  Put("b", "second");
  EXPECT_EQ(Get("b").value_or("?"), "second");
  EXPECT_TRUE(store_->VerifyAll()->empty());
}

TEST_F(RocksStore, VerifyNamesEveryDamagedGroup) {
  Open();
  const PutResult put = Put("many", RandomBytes(10 * kSegmentBytes, 4));
  Close();
  for (const int64_t offset : {0, 20000, 60000}) {
    ASSERT_TRUE(DamagePiece(directory_.path(), put.digest, {1, 0, 5}, offset).ok());
  }
  Open();
  absl::StatusOr<std::vector<VerifyFinding>> findings = store_->VerifyAll();
  ASSERT_TRUE(findings.ok());
  ASSERT_EQ(findings->size(), 3u);
  const uint64_t row = kSegmentBytes + 5 * kRowBytes;
  EXPECT_EQ((*findings)[0].range.offset_bytes, row);
  EXPECT_EQ((*findings)[1].range.offset_bytes, row + kGroupBytes);
  EXPECT_EQ((*findings)[2].range.offset_bytes, row + 3 * kGroupBytes);
}

}  // namespace coffer
