// SPDX-License-Identifier: Apache-2.0
//
// The scrubber on real files: damage beneath the caches and damage that no checksum sees are found, named and healed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "storage/blob_store.h"
#include "storage/layout.h"
#include "storage/rocks/rocks_engine.h"
#include "tests/support/damage.h"
#include "tests/support/samples.h"
#include "tests/support/temporary_directory.h"

namespace coffer {
namespace {

class Scrub : public testing::Test {
 protected:
  void Open(BlobStore::Options options = {}) {
    absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({directory_->path()});
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = engine->get();
    options.grace = absl::ZeroDuration();
    options.report_finding = [this](const VerifyFinding& finding) {
      const std::lock_guard lock(mutex_);
      findings_.push_back(finding);
    };
    store_ = std::make_unique<BlobStore>(*std::move(engine), std::move(options));
    ASSERT_TRUE(store_->scrubber().SetRate(0).ok());
  }
  void Close() { store_.reset(); }
  void Reopen() {
    Close();
    Open();
  }

  PutResult Put(const std::string& name, const std::string& content) {
    UploadOptions claims;
    claims.name = name;
    absl::StatusOr<std::unique_ptr<Upload>> upload = store_->BeginUpload(std::move(claims));
    EXPECT_TRUE(upload.ok() && (*upload)->Append(content).ok());
    absl::StatusOr<PutResult> put = (*upload)->Commit();
    EXPECT_TRUE(put.ok()) << put.status();
    return put.value_or(PutResult());
  }
  absl::StatusOr<std::string> Get(const std::string& name) {
    absl::StatusOr<std::unique_ptr<BlobReader>> reader = store_->Open({"", name}, {});
    if (!reader.ok()) return reader.status();
    std::string out((*reader)->size_bytes(), '\0');
    absl::StatusOr<size_t> got = (*reader)->Read(absl::MakeSpan(out.data(), out.size()));
    if (!got.ok()) return got.status();
    return out;
  }
  std::vector<VerifyFinding> ScrubOnce() {
    {
      const std::lock_guard lock(mutex_);
      findings_.clear();
    }
    const absl::Status status = store_->scrubber().RunCycle();
    EXPECT_TRUE(status.ok()) << status;
    const std::lock_guard lock(mutex_);
    return findings_;
  }

  // Flips a bit in the table file that holds `bytes`, beneath the database, in the middle of them. False if none has
  // them.
  bool FlipOnDisk(const std::string& bytes) {
    for (const auto& entry : std::filesystem::directory_iterator(directory_->path() + "/db")) {
      if (entry.path().extension() != ".sst") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string all((std::istreambuf_iterator<char>(in)), {});
      const size_t at = all.find(bytes);
      if (at == std::string::npos) continue;
      const int fd = open(entry.path().c_str(), O_WRONLY | O_CLOEXEC);
      const size_t middle = at + bytes.size() / 2;
      const char flipped = static_cast<char>(all[middle] ^ 4);
      EXPECT_EQ(pwrite(fd, &flipped, 1, static_cast<off_t>(middle)), 1);
      EXPECT_EQ(fsync(fd), 0);
      EXPECT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
      close(fd);
      return true;
    }
    return false;
  }

  // Writes everything to table files.
  void Flush() {
    // Content that is in a memtable only makes the scrubber flush.
    EXPECT_TRUE(ScrubOnce().empty());
  }

  std::unique_ptr<TemporaryDirectory> directory_ = std::make_unique<TemporaryDirectory>();
  Engine* engine_ = nullptr;
  std::mutex mutex_;
  std::vector<VerifyFinding> findings_;
  std::unique_ptr<BlobStore> store_;
};

constexpr uint64_t kLarge = 9 * kSegmentBytes;

std::string RangeOf(uint64_t begin, uint64_t end) { return absl::StrCat("[", begin, ", ", end, ")"); }

// Where in a blob of so many bytes a bit is flipped, and what is named then.
struct Flip {
  uint64_t size_bytes;
  uint64_t offset_bytes;
  ByteRange expected;
};

// The database's own checksums cover a block, which is a row: all of it is named.
const Flip kFlips[] = {
    {11000, 5000, {0, 11000}},
    {50000, 40000, {0, 50000}},
    {3 * kSegmentBytes, kSegmentBytes + 5000, {kSegmentBytes, kRowBytes}},
    {kLarge, 2 * kSegmentBytes + 3 * kRowBytes + 20000, {2 * kSegmentBytes + 3 * kRowBytes, kRowBytes}},
};

TEST_F(Scrub, FindsABitFlippedOnTheDiskWhileTheStoreIsOpen) {
  for (const Flip& flip : kFlips) {
    directory_ = std::make_unique<TemporaryDirectory>();
    Open();
    const std::string content = RandomBytes(flip.size_bytes, flip.size_bytes);
    const std::string other = RandomBytes(flip.size_bytes, flip.size_bytes + 1);
    const Digest digest = Put("damaged", content).digest;
    Put("sound", other);
    Flush();
    // In the caches it is sound.
    EXPECT_TRUE(Get("damaged").value_or("?") == content);
    ASSERT_TRUE(FlipOnDisk(content.substr(flip.offset_bytes - 500, 1000)));
    const std::vector<VerifyFinding> findings = ScrubOnce();
    ASSERT_EQ(findings.size(), 1u) << flip.size_bytes;
    EXPECT_EQ(findings[0].digest, digest);
    EXPECT_EQ(findings[0].range.offset_bytes, flip.expected.offset_bytes);
    EXPECT_EQ(findings[0].range.length_bytes, flip.expected.length_bytes);
    EXPECT_EQ(store_->FindMissing("", {digest})->size(), 1u);
    EXPECT_EQ(*store_->CountQuarantined(), 1u);
    const absl::Status get = Get("damaged").status();
    EXPECT_TRUE(absl::IsDataLoss(get)) << get;
    EXPECT_TRUE(absl::StrContains(get.message(), digest.ToHex())) << get;
    EXPECT_TRUE(ScrubOnce().empty()) << "it is reported once";

    EXPECT_FALSE(Put("healed", content).deduplicated);
    EXPECT_TRUE(Get("damaged").value_or("?") == content);
    EXPECT_TRUE(Get("sound").value_or("?") == other);
    EXPECT_EQ(*store_->CountQuarantined(), 0u);
    EXPECT_TRUE(ScrubOnce().empty());
    ASSERT_TRUE(store_->Delete("", {"damaged", "healed", "sound"}).ok());
    EXPECT_TRUE(store_->Collect(false).ok());
    Close();
  }
}

TEST_F(Scrub, FindsABitFlippedWhileTheStoreWasClosed) {
  for (const Flip& flip : kFlips) {
    directory_ = std::make_unique<TemporaryDirectory>();
    Open();
    const std::string content = RandomBytes(flip.size_bytes, flip.size_bytes);
    const Digest digest = Put("damaged", content).digest;
    Flush();
    Close();
    ASSERT_TRUE(FlipOnDisk(content.substr(flip.offset_bytes - 500, 1000)));
    Open();
    const std::vector<VerifyFinding> findings = ScrubOnce();
    ASSERT_EQ(findings.size(), 1u) << flip.size_bytes;
    EXPECT_EQ(findings[0].digest, digest);
    EXPECT_EQ(findings[0].range.offset_bytes, flip.expected.offset_bytes);
    Put("damaged", content);
    EXPECT_TRUE(Get("damaged").value_or("?") == content);
    EXPECT_TRUE(ScrubOnce().empty());
    Close();
  }
}

TEST_F(Scrub, WritesAnInlineBlobAnewThatIsSoundInMemory) {
  Open();
  const std::string content = RandomBytes(500, 7);
  const Digest digest = Put("inline", content).digest;
  Flush();
  EXPECT_TRUE(Get("inline").ok());
  ASSERT_TRUE(FlipOnDisk(content));
  const std::vector<VerifyFinding> findings = ScrubOnce();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].digest, digest);
  EXPECT_TRUE(absl::StrContains(findings[0].problem, "written to the disk anew")) << findings[0].problem;
  EXPECT_TRUE(Get("inline").value_or("?") == content);
  EXPECT_TRUE(ScrubOnce().empty());
  Reopen();
  EXPECT_TRUE(Get("inline").value_or("?") == content);
}

TEST_F(Scrub, FindsAnInlineBlobThatIsDamagedEverywhereAndAPutHealsIt) {
  Open();
  const std::string content = RandomBytes(500, 7);
  const Digest digest = Put("inline", content).digest;
  Flush();
  Close();
  ASSERT_TRUE(FlipOnDisk(content));
  Open();
  // The place, and then who misses what was there.
  const std::vector<VerifyFinding> findings = ScrubOnce();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_TRUE(absl::StrContains(findings[0].problem, "checksum")) << findings[0].problem;
  EXPECT_EQ(findings[1].digest, digest);
  EXPECT_TRUE(absl::StrContains(findings[1].problem, "\"inline\"")) << findings[1].problem;
  EXPECT_TRUE(absl::IsDataLoss(Get("inline").status()));
  EXPECT_EQ(store_->FindMissing("", {digest})->size(), 1u);
  EXPECT_FALSE(Put("other", content).deduplicated);
  EXPECT_TRUE(Get("inline").value_or("?") == content);
  // The place is still damaged, but nobody misses anything.
  EXPECT_EQ(ScrubOnce().size(), 1u);
}

// What no checksum of the database sees; named to the chunk group.
TEST_F(Scrub, FindsDamageThroughTheDatabase) {
  struct Damage {
    uint64_t size_bytes;
    PieceId piece;
    int64_t offset;
    ByteRange expected;
  };
  const Damage damages[] = {
      {400, {}, -1, {0, 400}},
      {11000, {}, -1, {0, 11000}},
      {50000, {}, -1, {3 * kGroupBytes, 50000 - 3 * kGroupBytes}},
      {3 * kSegmentBytes, {1, 0, 2}, 20000, {kSegmentBytes + 2 * kRowBytes + kGroupBytes, kGroupBytes}},
      {kLarge, {2, 1, 0}, 100, {2 * kSegmentBytes, kSegmentBytes}},
      {kLarge + 1, {2, 0, 3}, 100, {2 * kSegmentBytes + 3 * kRowBytes, kGroupBytes}},
  };
  for (const Damage& damage : damages) {
    Open();
    const std::string content = RandomBytes(damage.size_bytes, damage.size_bytes);
    const Digest digest = Put("damaged", content).digest;
    Close();
    const LeftRows before = *CountRows(directory_->path());
    const bool is_small = damage.size_bytes <= kRowBytes;
    ASSERT_TRUE((is_small ? DamageSmall(directory_->path(), digest, damage.offset)
                          : DamagePiece(directory_->path(), digest, damage.piece, damage.offset))
                    .ok());
    Open();
    const std::vector<VerifyFinding> findings = ScrubOnce();
    ASSERT_EQ(findings.size(), 1u) << damage.size_bytes;
    EXPECT_EQ(findings[0].digest, digest);
    EXPECT_EQ(findings[0].range.offset_bytes, damage.expected.offset_bytes);
    EXPECT_EQ(findings[0].range.length_bytes, damage.expected.length_bytes);
    const std::string range =
        RangeOf(damage.expected.offset_bytes, damage.expected.offset_bytes + damage.expected.length_bytes);
    const absl::Status get = Get("damaged").status();
    EXPECT_TRUE(absl::IsDataLoss(get)) << get;
    EXPECT_TRUE(absl::StrContains(get.message(), range)) << get;
    Put("damaged", content);
    EXPECT_TRUE(Get("damaged").value_or("?") == content);
    EXPECT_TRUE(ScrubOnce().empty());
    EXPECT_TRUE(store_->Collect(false).ok());
    Close();
    EXPECT_EQ(CountRows(directory_->path())->content, before.content) << "the old pieces are reclaimed";
    EXPECT_EQ(CountRows(directory_->path())->notes, 0u);
    Open();
    ASSERT_TRUE(store_->Delete("", {"damaged"}).ok());
    EXPECT_TRUE(store_->Collect(false).ok());
    Close();
  }
}

TEST_F(Scrub, DamageThatAReaderOrAVerificationMeetsIsQuarantined) {
  Open();
  const std::string content = RandomBytes(50000, 1);
  const Digest digest = Put("damaged", content).digest;
  Close();
  ASSERT_TRUE(DamageSmall(directory_->path(), digest, -1).ok());
  Open({.scrubs = true});
  EXPECT_TRUE(absl::IsDataLoss(Get("damaged").status()));
  for (int i = 0; i < 1000 && *store_->CountQuarantined() == 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(*store_->CountQuarantined(), 1u);
  EXPECT_FALSE(Put("damaged", content).deduplicated);
  Close();
  ASSERT_TRUE(DamageSmall(directory_->path(), digest, -1).ok());
  Open();
  int found = 0;
  const VerifyObserver observer = {[](const VerifyProgress&) { return true; }, [&](const VerifyFinding&) { ++found; }};
  ASSERT_TRUE(store_->VerifyAll(observer).ok());
  EXPECT_EQ(found, 1);
  EXPECT_EQ(*store_->CountQuarantined(), 1u);
  // It is still named by the next verification, and by one of its own.
  ASSERT_TRUE(store_->VerifyAll(observer).ok());
  ASSERT_TRUE(store_->VerifyBlob({"", digest}, {}, observer).ok());
  EXPECT_EQ(found, 3);
}

TEST_F(Scrub, NamesADamagedRecordAndTheSamePutHealsIt) {
  Open();
  const std::string content = RandomBytes(11000, 1);
  const Digest digest = Put("first", content).digest;
  Put("second", content);
  Close();
  ASSERT_TRUE(DamageRecord(directory_->path(), digest, 3).ok());
  Open();
  const std::vector<VerifyFinding> findings = ScrubOnce();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(absl::StrContains(findings[0].problem, digest.ToHex())) << findings[0].problem;
  Put("third", content);
  EXPECT_TRUE(ScrubOnce().empty());
  EXPECT_TRUE(Get("first").value_or("?") == content);
}

TEST_F(Scrub, FindsRowsThatContradictEachOther) {
  Open();
  const Digest digest = Put("first", "content").digest;
  Put("second", "content");
  Put("third", "other");
  Close();
  ASSERT_TRUE(RemoveLink(directory_->path(), digest, "default", "second").ok());
  Open();
  std::vector<VerifyFinding> findings = ScrubOnce();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(absl::StrContains(findings[0].problem, "\"second\"")) << findings[0].problem;
  EXPECT_TRUE(absl::StrContains(findings[0].problem, "no back-link")) << findings[0].problem;
  EXPECT_TRUE(ScrubOnce().empty()) << "it was given one";
  // So the content does not go while it has a name.
  ASSERT_TRUE(store_->Delete("", {"first"}).ok());
  EXPECT_EQ(store_->Collect(false)->blobs, 0u);
  EXPECT_EQ(Get("second").value_or("?"), "content");
  Close();
  ASSERT_TRUE(RemoveReferenceRow(directory_->path(), "default", "second").ok());
  ASSERT_TRUE(RemoveReferenceRow(directory_->path(), "default", "third").ok());
  Open();
  findings = ScrubOnce();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_TRUE(absl::StrContains(findings[0].problem, "back-link")) << findings[0].problem;
  EXPECT_TRUE(absl::StrContains(findings[1].problem, "first back-link")) << findings[1].problem;
  EXPECT_EQ(store_->Collect(false)->blobs, 0u) << "the content is kept";
  Close();
  ASSERT_TRUE(RemoveRecordRow(directory_->path(), DigestOf("other")).ok());
  Open();
  Put("fourth", "fourth");
  Close();
  ASSERT_TRUE(RemoveRecordRow(directory_->path(), DigestOf("fourth")).ok());
  Open();
  findings = ScrubOnce();
  bool is_named = false;
  for (const VerifyFinding& finding : findings) {
    is_named =
        is_named || absl::StrContains(finding.problem, absl::StrCat("\"fourth\" of the bucket with number 1 ",
                                                                    "stands for blob ", DigestOf("fourth").ToHex()));
  }
  EXPECT_TRUE(is_named);
}

// Many rows change while a page of them is looked at, so that only the second look keeps what is sound from being
// found.
TEST_F(Scrub, FindsNothingInRowsThatComeAndGo) {
  constexpr int kNames = 600;
  Open();
  std::atomic<bool> done = false;
  std::thread churn([&] {
    std::vector<std::string> names;
    for (int i = 0; i < kNames; ++i) names.push_back(absl::StrCat("name-", i));
    for (int round = 0; !done; ++round) {
      std::vector<std::string> contents;
      std::vector<BatchItem> items(kNames);
      for (int i = 0; i < kNames; ++i) contents.push_back(absl::StrCat("content ", i / 2, " of ", round % 3));
      for (int i = 0; i < kNames; ++i) {
        items[i].options.name = names[i];
        items[i].content = contents[i];
      }
      for (const auto& put : store_->PutBatch(items)) EXPECT_TRUE(put.ok()) << put.status();
      if (round % 2 == 0) {
        EXPECT_TRUE(store_->Delete("", names).ok());
      }
      EXPECT_TRUE(store_->Collect(false).ok());
    }
  });
  const absl::Time end = absl::Now() + absl::Seconds(2);
  size_t findings = 0;
  while (absl::Now() < end) findings += ScrubOnce().size();
  done = true;
  churn.join();
  EXPECT_EQ(findings, 0u);
  EXPECT_TRUE(ScrubOnce().empty());
}

TEST_F(Scrub, GoesOnWhereItWasAfterARestart) {
  constexpr int kBlobs = 40;
  BlobStore::Options pages;
  pages.scrub_page.blobs = 10;
  pages.scrubs = true;
  Open();
  ASSERT_TRUE(store_->scrubber().Pause().ok());
  for (int i = 0; i < kBlobs; ++i) Put(absl::StrCat(i), RandomBytes(100000, i));
  Close();
  // 1 MB/s: a page takes a second.
  Open(pages);
  ASSERT_TRUE(store_->scrubber().SetRate(1'000'000).ok());
  ASSERT_TRUE(store_->scrubber().Resume().ok());
  const auto position = [&] { return store_->scrubber().status()->state.position; };
  for (int i = 0; i < 1000 && position().empty(); ++i) absl::SleepFor(absl::Milliseconds(10));
  ASSERT_FALSE(position().empty());
  // A pause stores where it is, and lasts across the restart.
  ASSERT_TRUE(store_->scrubber().Pause().ok());
  const ScrubState before = store_->scrubber().status()->state;
  Close();
  Open(pages);
  const ScrubState after = store_->scrubber().status()->state;
  EXPECT_TRUE(after.is_paused);
  EXPECT_EQ(after.position, before.position);
  EXPECT_EQ(after.cycle_start, before.cycle_start);
  EXPECT_EQ(after.cycles_completed, 0u);
  ASSERT_TRUE(store_->scrubber().Resume().ok());
  for (int i = 0; i < 1000 && store_->scrubber().status()->state.cycles_completed == 0; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  const ScrubState complete = store_->scrubber().status()->state;
  EXPECT_EQ(complete.cycles_completed, 1u);
  EXPECT_EQ(complete.last_completed_start, before.cycle_start);
  // What was read of a page that was given up counts twice.
  EXPECT_GE(complete.blobs_checked, uint64_t{kBlobs});
  EXPECT_LT(complete.blobs_checked, uint64_t{kBlobs + 2 * 10});
}

TEST_F(Scrub, HoldsItsRateAndPauses) {
  Open();
  ASSERT_TRUE(store_->scrubber().Pause().ok());
  for (int i = 0; i < 60; ++i) Put(absl::StrCat(i), RandomBytes(i % 2 == 0 ? 11000 : 500000, i));
  Close();
  Open({.scrubs = true});
  Scrubber& scrubber = store_->scrubber();
  constexpr uint64_t kRate = 4'000'000;
  ASSERT_TRUE(scrubber.SetRate(kRate).ok());
  const auto checked = [&] { return scrubber.status()->state.bytes_checked; };
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_EQ(checked(), 0u) << "it is paused";
  ASSERT_TRUE(scrubber.Resume().ok());
  while (checked() < 2'000'000) absl::SleepFor(absl::Milliseconds(1));
  const absl::Time begin = absl::Now();
  const uint64_t bytes_begin = checked();
  while (checked() < 10'000'000) absl::SleepFor(absl::Milliseconds(1));
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  const double rate = static_cast<double>(checked() - bytes_begin) / seconds;
  // Never faster; a machine that is busy may make it slower.
  EXPECT_LT(rate, 1.1 * kRate);
  EXPECT_GT(rate, 0.5 * kRate);
  ASSERT_TRUE(scrubber.Pause().ok());
  absl::SleepFor(absl::Milliseconds(50));
  const uint64_t paused_at = checked();
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_EQ(checked(), paused_at);
}

}  // namespace
}  // namespace coffer
