// SPDX-License-Identifier: Apache-2.0
//
// How long single calls wait: small puts while a very large blob is put and committed, and the commit of a blob that
// is ingested, with the number of files that the database has.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hashing/bytes.h"
#include "tests/bench/storage/bench_store.h"

namespace coffer::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kP50 = 0.5;
constexpr double kP99 = 0.99;

struct TimedCall {
  Clock::time_point begin;
  Clock::time_point end;
};

struct Window {
  Clock::time_point begin;
  Clock::time_point end;
};

// Milliseconds of the calls that were under way within `window`.
std::vector<double> Within(const std::vector<TimedCall>& calls, const Window& window) {
  std::vector<double> times_ms;
  for (const TimedCall& call : calls) {
    if (call.end < window.begin || call.begin > window.end) continue;
    times_ms.push_back(std::chrono::duration<double, std::milli>(call.end - call.begin).count());
  }
  return times_ms;
}

class SmallPuts {
 public:
  static constexpr int kCallers = 8;
  static constexpr size_t kSizeBytes = 11000;

  SmallPuts(StorageBench& bench, BenchStore& store) : bench_(bench), store_(store) {}

  // The puts that callers make until `work` has returned.
  std::vector<TimedCall> While(const std::function<void()>& work) {
    std::vector<std::vector<TimedCall>> calls(kCallers);
    std::atomic<bool> go_on = true;
    std::thread putting([&] {
      callers_.Run([&] { return go_on.load(); },
                   [&](int caller, StampedBytes& bytes) {
                     const Clock::time_point begin = Clock::now();
                     store_.Put(bytes.Blob(bench_.FreshNumber(), kSizeBytes));
                     calls[caller].push_back({begin, Clock::now()});
                   });
    });
    work();
    go_on = false;
    putting.join();
    std::vector<TimedCall> all;
    for (const std::vector<TimedCall>& one : calls) all.insert(all.end(), one.begin(), one.end());
    return all;
  }

 private:
  StorageBench& bench_;
  BenchStore& store_;
  Callers callers_{kCallers, kSizeBytes};
};

// When the large blob was put, and when it was committed.
struct LargePut {
  Window all;
  Window commit;
};

LargePut PutLargeBlob(BenchStore& store, StampedBytes& bytes, uint64_t size_bytes) {
  constexpr auto kHalfSecond = std::chrono::milliseconds(500);
  LargePut put;
  put.all.begin = Clock::now();
  const std::unique_ptr<Upload> upload = store.AppendLarge(bytes, size_bytes);
  put.commit.begin = Clock::now();
  Check(upload->Commit().status());
  put.commit.end = put.all.end = Clock::now();
  // At least the second around its middle.
  const Clock::time_point middle = put.commit.begin + (put.commit.end - put.commit.begin) / 2;
  put.commit = {std::min(put.commit.begin, middle - kHalfSecond), std::max(put.commit.end, middle + kHalfSecond)};
  std::this_thread::sleep_until(put.commit.end);
  return put;
}

// Makes the database have a file more, as a large blob does: an upload that is declared to be large streams into a file
// of its own, however little then comes. That takes neither the time nor the disk that large ones would.
void AddSmallFile(StorageBench& bench, BenchStore& store, StampedBytes& bytes) {
  constexpr size_t kContentBytes = 4096;
  const absl::string_view content = bytes.Blob(bench.FreshNumber(), kContentBytes);
  absl::StatusOr<std::unique_ptr<Staging>> staging = store.engine().Stage(kGiB);
  Check(staging.status());
  Check((*staging)->Add(RowId(0), content));
  const Digest digest = HashBlob(BytesOf(content));
  Check((*staging)->Publish({"default", digest.ToHex(), digest, kContentBytes, {}, absl::Now()}).status());
}

uint64_t TableFiles(const BenchStore& store) {
  uint64_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store.directory())) {
    if (entry.path().extension() == ".sst") ++files;
  }
  return files;
}

// Milliseconds that the commits of `count` new blobs of 8 MiB take.
std::vector<double> CommitTimes(BenchStore& store, StampedBytes& bytes, int count) {
  std::vector<double> times_ms;
  for (int i = 0; i < count; ++i) {
    const std::unique_ptr<Upload> upload = store.AppendLarge(bytes, 8 * kMiB);
    times_ms.push_back(1e3 * Seconds([&] { Check(upload->Commit().status()); }));
  }
  return times_ms;
}

void IngestRowsAt(StorageBench& bench, uint64_t files) {
  const std::string when = absl::StrCat(" of commits of 8 MiB at ", files, " files");
  Row p50{"p50" + when, "ms", {}, "a new store", {}, false};
  Row p99{"p99" + when, "ms", {}, "a new store", {}, false};
  Row live{absl::StrCat("table files at the end of commits at ", files, " files"), "files", {}, "", {}, false};
  if (!bench.Wants(p50.name) && !bench.Wants(p99.name) && !bench.Wants(live.name)) return;
  BenchStore store(bench, "store");
  BenchStore fresh(bench, "new-store");
  StampedBytes bytes(kMiB);
  while (TableFiles(store) < files) {
    for (uint64_t missing = files - TableFiles(store); missing > 0; --missing) AddSmallFile(bench, store, bytes);
  }
  const int commits = bench.quick() ? 2 : 20;
  CommitTimes(fresh, bytes, commits);
  CommitTimes(store, bytes, commits);
  std::vector<double> times_ms;
  std::vector<double> fresh_times_ms;
  for (int round = 0; round < bench.rounds(); ++round) {
    for (const double ms : CommitTimes(fresh, bytes, commits)) fresh_times_ms.push_back(ms);
    for (const double ms : CommitTimes(store, bytes, commits)) times_ms.push_back(ms);
  }
  for (auto [row, fraction] : {std::pair(&p50, kP50), std::pair(&p99, kP99)}) {
    row->samples = {Percentile(times_ms, fraction)};
    row->control_samples = {Percentile(fresh_times_ms, fraction)};
    bench.Print(*row);
  }
  live.samples.push_back(static_cast<double>(TableFiles(store)));
  bench.Print(live);
}

}  // namespace

void LatencyRows(StorageBench& bench) {
  const uint64_t size_bytes = bench.quick() ? 64 * kMiB : bench.options().long_run ? 20 * kGiB : 2 * kGiB;
  const std::string puts = absl::StrCat(" of puts of ", SmallPuts::kSizeBytes, " B, 8 callers, ");
  const std::string large = absl::StrCat(size_bytes / kMiB, " MiB");
  Row p50{absl::StrCat("p50", puts, large, " being put"), "ms", {}, "quiet", {}, false};
  Row p99{absl::StrCat("p99", puts, large, " being put"), "ms", {}, "quiet", {}, false};
  Row at_commit{absl::StrCat("p99", puts, large, " committed"), "ms", {}, "quiet", {}, false};
  if (!bench.Wants(p50.name) && !bench.Wants(p99.name) && !bench.Wants(at_commit.name)) return;
  BenchStore store(bench, "store");
  SmallPuts small(bench, store);
  StampedBytes bytes(kMiB);
  const auto quiet = [&] { std::this_thread::sleep_for(std::chrono::duration<double>(3 * bench.turn_seconds())); };
  small.While(quiet);
  store.PutLarge(bytes, 64 * kMiB);
  const Window always{Clock::time_point::min(), Clock::time_point::max()};
  for (int round = 0; round < (bench.options().long_run ? 1 : std::min(bench.rounds(), 3)); ++round) {
    WaitUntilQuiet();
    const std::vector<double> quiet_ms = Within(small.While(quiet), always);
    WaitUntilQuiet();
    LargePut put;
    const std::vector<TimedCall> calls = small.While([&] { put = PutLargeBlob(store, bytes, size_bytes); });
    p50.control_samples.push_back(Percentile(quiet_ms, kP50));
    p50.samples.push_back(Percentile(Within(calls, put.all), kP50));
    for (Row* row : {&p99, &at_commit}) row->control_samples.push_back(Percentile(quiet_ms, kP99));
    p99.samples.push_back(Percentile(Within(calls, put.all), kP99));
    at_commit.samples.push_back(Percentile(Within(calls, put.commit), kP99));
  }
  for (const Row* row : {&p50, &p99, &at_commit}) bench.Print(*row);
}

void IngestRows(StorageBench& bench) {
  IngestRowsAt(bench, bench.quick() ? 20 : 1000);
  if (bench.options().long_run) IngestRowsAt(bench, 10000);
}

}  // namespace coffer::bench
