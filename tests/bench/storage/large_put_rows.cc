// SPDX-License-Identifier: Apache-2.0
//
// Large content from one caller, beside a file of the same size; and how many bytes go to disk for each one stored.
#include <algorithm>
#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/bench/storage/bench_store.h"
#include "tests/bench/storage/raw_controls.h"

namespace coffer::bench {
namespace {

void LargePutRow(StorageBench& bench, uint64_t size_bytes) {
  Row row{absl::StrCat("put ", size_bytes / kMiB, " MiB, one caller, new"), "MB/s", {}, "O_DIRECT file", {}, true};
  if (!bench.Wants(row.name)) return;
  BenchStore store(bench, "store");
  RawFile file(bench);
  StampedBytes bytes(kMiB);
  const auto ours = [&](uint64_t one_bytes, uint64_t count) {
    return static_cast<double>(count * one_bytes) / 1e6 / Seconds([&] {
             for (uint64_t i = 0; i < count; ++i) store.PutLarge(bytes, one_bytes);
           });
  };
  const auto control = [&](uint64_t one_bytes, uint64_t count) {
    double seconds = 0;
    for (uint64_t i = 0; i < count; ++i) seconds += file.Write(one_bytes);
    return static_cast<double>(count * one_bytes) / 1e6 / seconds;
  };
  const uint64_t turn_bytes = bench.quick() ? 64 * kMiB : 256 * kMiB;
  const uint64_t count = std::max<uint64_t>(1, turn_bytes / size_bytes);
  control(std::min(size_bytes, turn_bytes), count);
  ours(std::min(size_bytes, turn_bytes), count);
  const int rounds = size_bytes > turn_bytes ? std::min(bench.rounds(), 3) : bench.rounds();
  Alternate(rounds,
            {{[&] { return control(size_bytes, count); }, row.control_samples},
             {[&] { return ours(size_bytes, count); }, row.samples}},
            [] { WaitUntilQuiet(); });
  bench.Print(row);
}

void WriteAmplificationRow(StorageBench& bench, uint64_t size_bytes) {
  const std::string size = size_bytes % kMiB == 0   ? absl::StrCat(size_bytes / kMiB, " MiB")
                           : size_bytes % kKiB == 0 ? absl::StrCat(size_bytes / kKiB, " KiB")
                                                    : absl::StrCat(size_bytes, " B");
  Row row{absl::StrCat("write amplification of ", size), "times", {}, "", {}, false};
  if (!bench.Wants(row.name)) return;
  const uint64_t total_bytes = bench.quick() ? 32 * kMiB : bench.options().long_run ? 4 * kGiB : kGiB;
  const uint64_t count = std::max<uint64_t>(1, total_bytes / size_bytes);
  const bool is_large = size_bytes >= kMiB;
  BenchStore store(bench, "store");
  WaitUntilQuiet();
  const uint64_t before = BytesWritten();
  if (is_large) {
    StampedBytes bytes(kMiB);
    for (uint64_t i = 0; i < count; ++i) store.PutLarge(bytes, size_bytes);
  } else {
    Callers callers(64, size_bytes);
    std::atomic<uint64_t> next = 0;
    // The number is taken together with the decision to go on.
    callers.Run([&] { return next++ < count; },
                [&](int, StampedBytes& bytes) { store.Put(bytes.Blob(bench.FreshNumber(), size_bytes)); });
  }
  // Closing would cut a compaction short and have it done twice.
  WaitUntilQuiet(absl::Minutes(2));
  store.Close();
  SettleDatabase(store.directory());
  row.samples.push_back(static_cast<double>(BytesWritten() - before) / static_cast<double>(count * size_bytes));
  bench.Print(row);
}

}  // namespace

void LargePutRows(StorageBench& bench) {
  for (const uint64_t size_bytes : {kMiB, 8 * kMiB, 64 * kMiB}) LargePutRow(bench, size_bytes);
  if (!bench.quick()) LargePutRow(bench, kGiB);
}

void WriteAmplificationRows(StorageBench& bench) {
  for (const uint64_t size_bytes : {uint64_t{11000}, 8 * kMiB}) WriteAmplificationRow(bench, size_bytes);
  if (bench.quick()) return;
  for (const uint64_t size_bytes : {64 * kKiB, kMiB, 64 * kMiB}) WriteAmplificationRow(bench, size_bytes);
}

}  // namespace coffer::bench
