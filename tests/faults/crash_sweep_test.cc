// SPDX-License-Identifier: Apache-2.0
//
// The power goes at every single call of one sequence in turn, or the disk begins to fail at every other: a large blob
// is put halfway, put, deleted, collected and put again; a bucket is filled and deleted. So every place between intent,
// ingest, publication, erasure and the removal of pieces is hit.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "absl/strings/str_join.h"
#include "storage/rocks/rocks_engine.h"
#include "tests/faults/crash_run.h"
#include "tests/support/temporary_directory.h"

namespace coffer::faults {
namespace {

namespace fs = std::filesystem;

// What this store may occupy beyond its content: less than one more large blob.
constexpr uint64_t kMaxOverheadBytes = uint64_t{6} << 20;

uint64_t BytesUnder(const std::string& directory) {
  uint64_t size_bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) size_bytes += entry.file_size();
  }
  return size_bytes;
}

#ifdef COFFER_SANITIZED
// What takes a minute without sanitizers takes ten with them.
constexpr uint64_t kStride = 7;
#else
constexpr uint64_t kStride = 1;
#endif

enum class Fault {
  kPowerLost,
  // That call and all that follow fail; then, half of the times, the power goes as well.
  kCallsFail,
};

class CrashSweep : public testing::TestWithParam<Fault> {
 protected:
  // What a store does from its start on, as operations of one thread.
  std::vector<Operation> Sequence() const {
    const auto large_put = [&](const char* serial) {
      return Operation{Operation::Kind::kPut, "b", {{"large", large_}}, serial, {}};
    };
    const Operation small_put{Operation::Kind::kPut, "b", {{"small", small_}}, "small", {}};
    const Operation removal{Operation::Kind::kDelete, "b", {{"large", 0}, {"small", 0}}, "", {}};
    Operation abandoned = large_put("abandoned");
    abandoned.kind = Operation::Kind::kAbandonedPut;
    const Operation elsewhere{Operation::Kind::kPutBatch, "c", {{"x", small_}, {"y", small_}}, "elsewhere", {}};
    const Operation bucket_removal{Operation::Kind::kDeleteBucket, "c", {}, "", {}};
    const Operation collection{Operation::Kind::kCollect, "", {}, "", {}};
    return {abandoned, large_put("first"),  small_put, removal,        collection,
            removal,   large_put("second"), elsewhere, bucket_removal, collection};
  }

  // Runs the sequence on a copy of an empty store with the fault at the `passing`-th call, and again after that.
  // Returns whether it was over before.
  bool RunWithFaultAt(uint64_t passing, CrashReport& report) {
    const TemporaryDirectory directory(FastDirectory());
    const std::string data_dir = directory / "data";
    fs::copy(empty_ / "data", data_dir, fs::copy_options::recursive);
    CrashingDisk disk(data_dir);
    Model model(contents_);
    if (GetParam() == Fault::kPowerLost) {
      disk.LosePowerAt({.passing = passing});
    } else {
      disk.FailFrom({.passing = passing}, rocksdb::IOStatus::IOError("planted"));
    }
    const auto has_failed = [&] { return disk.calls() > passing; };
    Work(data_dir, disk, model, has_failed, report);
    const bool is_over = !has_failed();
    disk.FailFrom({}, rocksdb::IOStatus::OK());
    if (GetParam() == Fault::kPowerLost || (passing / 2) % 2 == 0) {
      disk.LosePower();
      disk.Restart(passing);
    }
    OpenAndCompare(data_dir, disk.env(), model, report);
    Work(
        data_dir, disk, model, [] { return false; }, report);
    CompareAtTheEnd(data_dir, disk.env(), model, report);
    EXPECT_EQ(model.references(), 1u);
    EXPECT_LT(BytesUnder(data_dir), contents_.size_bytes(large_) + contents_.size_bytes(small_) + kMaxOverheadBytes)
        << "files were not dropped";
    ++report.crashes;
    return is_over;
  }

  // Ends with the first operation that fails because the disk `has_failed`.
  void Work(const std::string& data_dir, CrashingDisk& disk, Model& model, absl::FunctionRef<bool()> has_failed,
            CrashReport& report) {
    absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({data_dir, disk.env()});
    if (!engine.ok() && has_failed()) return;
    ASSERT_TRUE(engine.ok()) << engine.status();
    BlobStore store(*std::move(engine), StoreOptions());
    for (const Operation& operation : Sequence()) {
      if (disk.lost()) return;
      model.Begin(0, operation);
      const std::string problem = model.End(0, Perform(store, contents_, operation));
      if (problem.empty()) continue;
      if (!has_failed()) report.problems.push_back(problem);
      return;
    }
  }

  void SetUp() override {
    std::mt19937_64 random(1);
    large_ = contents_.Huge(random);
    small_ = contents_.Small(random);
    ASSERT_TRUE(OpenRocksEngine({empty_ / "data"}).ok());
  }

  const Contents contents_{1};
  const TemporaryDirectory empty_{FastDirectory()};
  ContentId large_ = 0;
  ContentId small_ = 0;
};

TEST_P(CrashSweep, EveryCallOfALargePutAndOfDeletions) {
  CrashReport report;
  // More calls than the sequence makes.
  constexpr uint64_t kMaxCalls = 2000;
  uint64_t passing = 0;
  const uint64_t step = kStride * (GetParam() == Fault::kPowerLost ? 1 : 2);
  while (passing < kMaxCalls && report.problems.empty() && !HasFailure() && !RunWithFaultAt(passing, report)) {
    passing += step;
  }
  EXPECT_TRUE(report.problems.empty()) << "at call " << passing << ":\n" << absl::StrJoin(report.problems, "\n");
  EXPECT_GT(passing, 50u);
  EXPECT_LT(passing, kMaxCalls);
  std::printf("%d crashes survived\n", static_cast<int>(report.crashes));
}

INSTANTIATE_TEST_SUITE_P(Faults, CrashSweep, testing::Values(Fault::kPowerLost, Fault::kCallsFail),
                         [](const testing::TestParamInfo<Fault>& info) {
                           return info.param == Fault::kPowerLost ? "PowerLost" : "CallsFail";
                         });

}  // namespace
}  // namespace coffer::faults
