// SPDX-License-Identifier: Apache-2.0
//
// When the log cannot be synced nobody knows what is on the disk: nothing may be acknowledged, and nothing that the log
// may name may be dropped.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "storage/layout.h"
#include "storage/rocks/rocks_engine.h"
#include "tests/contract/contract_suite.h"
#include "tests/support/crashing_disk.h"
#include "tests/support/temporary_directory.h"

namespace coffer {
namespace {

class FailedSync : public testing::TestWithParam<size_t> {
 protected:
  void Open() {
    store_.reset();
    absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({data_dir_, disk_.env()});
    ASSERT_TRUE(engine.ok()) << engine.status();
    store_ = StoreInProcess(*std::move(engine));
  }
  absl::StatusOr<PutResult> Put(const std::string& name, const std::string& content) {
    StoreUnderTest::PutCall call;
    call.options.name = name;
    return store_->Put(call, content);
  }
  absl::StatusOr<std::string> Get(const std::string& name) {
    absl::StatusOr<std::unique_ptr<OpenRead>> read = store_->Open({"", name}, {});
    if (!read.ok()) return read.status();
    return ReadAll(**read);
  }

  // After `passing` more syncs of a log all fail; what was written before is on the disk all the same. OK ends that.
  void FailLogSyncs(const rocksdb::IOStatus& error, uint64_t passing = 0) {
    disk_.FailFrom({.call = CrashingDisk::Call::kSync, .suffix = ".log", .passing = passing}, error);
  }

  const TemporaryDirectory directory_;
  const std::string data_dir_ = directory_ / "data";
  CrashingDisk disk_{data_dir_};
  std::unique_ptr<StoreUnderTest> store_;
};

TEST_P(FailedSync, IsNeverAcknowledgedAndLeavesAWholeBlobOrNone) {
  int seed = 0;
  for (const rocksdb::IOStatus& error :
       {rocksdb::IOStatus::IOError("planted"), rocksdb::IOStatus::NoSpace("planted")}) {
    const std::string content = RandomBytes(GetParam(), ++seed);
    Open();
    ASSERT_TRUE(Put("before", "acknowledged").ok());
    StoreUnderTest::PutCall call;
    call.options.name = "unknown";
    // A streamed blob syncs its intent before; it is the publishing batch that shall fail.
    FailLogSyncs(error, GetParam() > 8 * kSegmentBytes ? 1 : 0);
    const absl::Status failed = store_->Put(call, content).status();
    EXPECT_FALSE(failed.ok());
    const absl::Status later = Put("later", "later").status();
    EXPECT_TRUE(absl::IsUnavailable(later)) << later;
    EXPECT_TRUE(absl::StrContains(later.message(), "restart")) << later;
    EXPECT_EQ(Get("before").value_or("?"), "acknowledged") << "reads go on";
    FailLogSyncs(rocksdb::IOStatus::OK());
    Open();
    EXPECT_EQ(Get("before").value_or("?"), "acknowledged");
    const absl::StatusOr<std::string> got = Get("unknown");
    if (got.ok()) {
      EXPECT_TRUE(*got == content);
    } else {
      EXPECT_TRUE(absl::IsNotFound(got.status())) << got.status();
    }
    EXPECT_TRUE(store_->VerifyAll()->empty());
    ASSERT_TRUE(Put("again", content).ok());
    EXPECT_TRUE(Get("again").value_or("?") == content);
    ASSERT_TRUE(store_->Delete("", {"unknown", "again"}).ok());
  }
}

// Inline, gathered and streamed.
INSTANTIATE_TEST_SUITE_P(Sizes, FailedSync, testing::Values(1000, 2 * kSegmentBytes, 20 * kSegmentBytes));

}  // namespace
}  // namespace coffer
