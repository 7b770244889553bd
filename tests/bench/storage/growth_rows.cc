// SPDX-License-Identifier: Apache-2.0
//
// How cost grows with the number of small blobs. One store grows from stage to stage; at each it is closed, and
// processes of their own open it, look up what is not there, and tell what that took and how much memory they have.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/rocks/rocks_engine.h"
#include "tests/bench/storage/bench_store.h"
#include "tests/support/process.h"

namespace coffer::bench {
namespace {

constexpr size_t kSizeBytes = 100;
// Large, so that the rows are what costs and not the sync.
constexpr size_t kBatch = 1000;
// Digests of one look-up, and how many look-ups are made.
constexpr size_t kDigests = 10000;
constexpr int kLookUps = 10;

struct Stage {
  int exponent;
  uint64_t blobs;
};

// The rows of a stage.
struct StageRows {
  explicit StageRows(const Stage& stage) {
    const std::string blobs = absl::StrCat("10^", stage.exponent, " blobs of ", kSizeBytes, " B: ");
    put = {absl::StrCat(blobs, "put, ", kBatch, " a call"), "blobs/s", {}, "", {}, true};
    look_up = {blobs + "look-up of an absent digest", "us", {}, "", {}, false};
    open = {blobs + "open", "s", {}, "", {}, false};
    replay = {blobs + "open with its log", "s", {}, "", {}, false};
    disk = {blobs + "disk a blob beyond content", "bytes", {}, "", {}, false};
    memory = {blobs + "memory after look-ups", "MiB", {}, "", {}, false};
  }
  std::vector<Row*> all() { return {&put, &look_up, &open, &replay, &disk, &memory}; }

  Row put, look_up, open, replay, disk, memory;
};

// The memory of this process.
double ResidentMib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kib = 0;
    if (word == "VmRSS:" && status >> kib) return static_cast<double>(kib) / kKiB;
  }
  Check(absl::UnimplementedError("/proc/self/status does not tell the memory in use"));
  return 0;
}

// Puts blobs until there are `blobs`; returns the seconds.
double Grow(BenchStore& store, std::vector<StampedBytes>& bytes, uint64_t blobs) {
  return Seconds([&] {
    for (uint64_t have = store.store().GetStatus().totals.blobs; have < blobs;) {
      const size_t count = std::min<uint64_t>(kBatch, blobs - have);
      store.PutBatch(bytes, kSizeBytes, count);
      have += count;
    }
  });
}

void Reopen(StorageBench& bench, BenchStore& store, StageRows& rows) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  // The first has the log to replay.
  for (int opened = 0; opened <= std::min(bench.rounds(), 3); ++opened) {
    const testing::ProcessResult result = testing::RunProgram({self, "--reopen", store.directory()});
    if (result.exit_code != 0) Check(absl::InternalError(absl::StrCat("opening again: ", result.err)));
    const nlohmann::json told = nlohmann::json::parse(result.out);
    (opened == 0 ? rows.replay : rows.open).samples.push_back(told["open_s"]);
    if (opened == 0) continue;
    rows.look_up.samples.push_back(told["look_up_us"]);
    rows.memory.samples.push_back(told["memory_mib"]);
  }
}

}  // namespace

void GrowthRows(StorageBench& bench) {
  std::vector<Stage> stages = {{4, 10'000}};
  if (!bench.quick()) stages.insert(stages.end(), {{5, 100'000}, {6, 1'000'000}});
  if (bench.options().long_run) stages.push_back({7, 10'000'000});
  const auto wants_any = [&](const Stage& stage) {
    StageRows rows(stage);
    const std::vector<Row*> all = rows.all();
    return std::any_of(all.begin(), all.end(), [&](const Row* row) { return bench.Wants(row->name); });
  };
  while (!stages.empty() && !wants_any(stages.back())) stages.pop_back();
  if (stages.empty()) return;
  BenchStore store(bench, "store");
  std::vector<StampedBytes> bytes(kBatch, StampedBytes(kSizeBytes));
  uint64_t have = stages.front().blobs / 5;
  Grow(store, bytes, have);
  for (const Stage& stage : stages) {
    StageRows rows(stage);
    rows.put.samples.push_back(static_cast<double>(stage.blobs - have) / Grow(store, bytes, stage.blobs));
    have = stage.blobs;
    if (!wants_any(stage)) continue;
    store.Close();
    Reopen(bench, store, rows);
    const auto blobs = static_cast<double>(stage.blobs);
    rows.disk.samples.push_back(static_cast<double>(DiskBytes(store.directory())) / blobs - kSizeBytes);
    store.Open();
    for (const Row* row : rows.all()) bench.Print(*row);
  }
}

void ReportReopened(const std::string& data_dir) {
  std::optional<BlobStore> store;
  const double open_s = Seconds([&] {
    absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({data_dir});
    Check(engine.status());
    store.emplace(*std::move(engine), BlobStore::Options{});
  });
  std::vector<double> look_ups_us;
  auto number = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  for (int i = 0; i < kLookUps; ++i) {
    std::vector<Digest> absent(kDigests);
    for (Digest& digest : absent) digest = *Digest::FromBytes(ScatteredKey(++number, Digest::kSizeBytes));
    const double seconds = Seconds([&] {
      const absl::StatusOr<std::vector<Digest>> missing = store->FindMissing("", absent);
      Check(missing.status());
      if (missing->size() != absent.size()) Check(absl::InternalError("an absent digest was found"));
    });
    look_ups_us.push_back(seconds * 1e6 / kDigests);
  }
  const nlohmann::json told = {{"open_s", open_s}, {"look_up_us", Median(look_ups_us)}, {"memory_mib", ResidentMib()}};
  std::printf("%s\n", told.dump().c_str());
}

}  // namespace coffer::bench
