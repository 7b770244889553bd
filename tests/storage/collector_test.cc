// SPDX-License-Identifier: Apache-2.0
#include "storage/collector.h"

#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "storage/blob_store.h"
#include "storage/memory/memory_engine.h"
#include "storage/rocks/rocks_engine.h"
#include "tests/support/temporary_directory.h"

namespace coffer {
namespace {

// Puts a blob and deletes its name.
void MakeGarbage(BlobStore& store) {
  UploadOptions options;
  options.name = "garbage";
  absl::StatusOr<std::unique_ptr<Upload>> upload = store.BeginUpload(options);
  ASSERT_TRUE(upload.ok());
  ASSERT_TRUE((*upload)->Append("garbage").ok());
  ASSERT_TRUE((*upload)->Commit().ok());
  ASSERT_EQ(store.Delete("", std::vector<std::string>{"garbage"}).value_or(0), 1u);
}

TEST(Collector, TakesNothingBeforeTheGracePeriodIsOver) {
  BlobStore store(NewMemoryEngine(), {.grace = absl::Hours(1)});
  MakeGarbage(store);
  EXPECT_EQ(store.Collect(false)->blobs, 0u);
  EXPECT_EQ(store.GetStatus().totals.blobs, 1u);
}

TEST(Collector, WorksByItself) {
  BlobStore::Options options{.grace = absl::ZeroDuration()};
  options.report_collector = [](const absl::Status& status) { ADD_FAILURE() << status; };
  BlobStore store(NewMemoryEngine(), std::move(options));
  MakeGarbage(store);
  for (int i = 0; i < 1000 && store.GetStatus().totals.blobs > 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(store.GetStatus().totals.blobs, 0u);
  EXPECT_EQ(store.GetStatus().totals.content_bytes, 0u);
}

TEST(Collector, CountsTheGracePeriodInServedTime) {
  const TemporaryDirectory directory;
  const auto open = [&] { return *OpenRocksEngine({directory.path()}); };
  // Long beside what the steps take.
  constexpr absl::Duration kGrace = absl::Seconds(2);
  {
    BlobStore store(open(), {.grace = kGrace});
    MakeGarbage(store);
  }
  // Out of service, time does not count.
  absl::SleepFor(kGrace);
  BlobStore store(open(), {.grace = kGrace});
  EXPECT_EQ(store.Collect(false)->blobs, 0u);
  absl::SleepFor(kGrace);
  EXPECT_EQ(store.Collect(false)->blobs, 1u);
}

}  // namespace
}  // namespace coffer
