// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/crash_run.h"

#include <rocksdb/db.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "storage/rocks/rocks_engine.h"

namespace coffer::faults {
namespace {

namespace fs = std::filesystem;
using Call = CrashingDisk::Call;

// Of a store of some MiB, also with sanitizers on a loaded machine.
constexpr double kMaxStartSeconds = 10;
// What a database may hold beyond its content: outboards and pages, less than one part in a hundred; its own rows; and
// for each blob and reference a row or two.
constexpr uint64_t kFixedBytes = 4096;
constexpr uint64_t kRowBytes = 1024;

uint64_t Below(std::mt19937_64& random, uint64_t limit) {
  return std::uniform_int_distribution<uint64_t>(0, limit - 1)(random);
}

// Half of all losses fall anywhere; the others at the calls that are rare, and matter.
CrashingDisk::Point AnyPoint(std::mt19937_64& random) {
  static const struct {
    CrashingDisk::Point point;
    uint64_t max_passing;
  } kRare[] = {
      {{Call::kLink}, 2},           {{Call::kRename}, 2},        {{Call::kDelete}, 3},
      {{Call::kCreate}, 4},         {{Call::kDirectorySync}, 6}, {{Call::kSync, ".sst"}, 6},
      {{Call::kWrite, ".sst"}, 60}, {{Call::kSync, ".log"}, 60}, {{Call::kWrite, ".log"}, 60},
  };
  if (Below(random, 2) == 0) return {.passing = Below(random, 250)};
  const auto& rare = kRare[Below(random, std::size(kRare))];
  CrashingDisk::Point point = rare.point;
  point.passing = Below(random, rare.max_passing);
  return point;
}

void CompareStaging(const std::string& data_dir, std::vector<std::string>& problems) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(data_dir + "/staging", error)) {
    problems.push_back(absl::StrCat("left in staging: ", entry.path().filename().string()));
  }
}

class CrashRun {
 public:
  CrashRun(const std::string& data_dir, const CrashOptions& options)
      : data_dir_(data_dir),
        options_(options),
        random_(options.seed),
        contents_(options.seed),
        model_(contents_),
        disk_(data_dir) {}

  CrashReport Run() {
    while (report_.crashes < uint64_t(options_.crashes) && report_.problems.empty()) {
      if (Below(random_, 4) == 0) CrashInStart();
      std::unique_ptr<BlobStore> store = OpenAndCompare(data_dir_, disk_.env(), model_, report_);
      if (store == nullptr || !report_.problems.empty()) break;
      Work(*store);
      Crash(std::move(store));
    }
    if (report_.problems.empty()) CompareAtTheEnd(data_dir_, disk_.env(), model_, report_);
    return std::move(report_);
  }

 private:
  void CrashInStart() {
    ++report_.crashes_in_start;
    CrashingDisk::Point point = AnyPoint(random_);
    point.passing %= 50;
    disk_.LosePowerAt(point);
    absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({data_dir_, disk_.env()});
    if (!engine.ok() && !disk_.lost())
      report_.problems.push_back(absl::StrCat("opening: ", engine.status().ToString()));
    Crash(engine.ok() ? std::make_unique<BlobStore>(*std::move(engine), StoreOptions()) : nullptr);
  }

  void Work(BlobStore& store) {
    const uint64_t script_seed = random_();
    Script::Mix mix;
    // Files of their own in every third round.
    mix.huge_percent = Below(random_, 3) == 0 ? 15 : 0;
    const Script script(script_seed, contents_, mix);
    disk_.LosePowerAt(AnyPoint(random_));
    const auto power_is_lost = [this] { return disk_.lost(); };
    WorkTogether(store, contents_, script, model_, {options_.threads, options_.operations}, power_is_lost, report_);
  }

  void Crash(std::unique_ptr<BlobStore> store) {
    // Now and then it is closed in peace first.
    if (Below(random_, 8) == 0) store.reset();
    disk_.LosePower();
    store.reset();
    disk_.Restart(random_(), options_.leftovers);
    ++report_.crashes;
  }

  const std::string data_dir_;
  const CrashOptions options_;
  std::mt19937_64 random_;
  const Contents contents_;
  Model model_;
  CrashingDisk disk_;
  CrashReport report_;
};

}  // namespace

void CrashReport::Add(const CrashReport& other) {
  crashes += other.crashes;
  crashes_in_start += other.crashes_in_start;
  acknowledged += other.acknowledged;
  longest_start_seconds = std::max(longest_start_seconds, other.longest_start_seconds);
  problems.insert(problems.end(), other.problems.begin(), other.problems.end());
}

std::unique_ptr<BlobStore> OpenAndCompare(const std::string& data_dir, rocksdb::Env* env, Model& model,
                                          CrashReport& report) {
  const absl::Time started = absl::Now();
  absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({data_dir, env});
  const double seconds = absl::ToDoubleSeconds(absl::Now() - started);
  report.longest_start_seconds = std::max(report.longest_start_seconds, seconds);
  if (seconds > kMaxStartSeconds) report.problems.push_back(absl::StrCat("the start took ", seconds, " s"));
  if (!engine.ok()) {
    report.problems.push_back(absl::StrCat("opening: ", engine.status().ToString()));
    return nullptr;
  }
  auto store = std::make_unique<BlobStore>(*std::move(engine), StoreOptions());
  for (std::string& problem : model.Check(*store)) report.problems.push_back(std::move(problem));
  CompareStaging(data_dir, report.problems);
  return store;
}

void CompareAtTheEnd(const std::string& data_dir, rocksdb::Env* env, Model& model, CrashReport& report) {
  std::unique_ptr<BlobStore> store = OpenAndCompare(data_dir, env, model, report);
  if (store == nullptr) return;
  if (absl::Status status = store->Collect(false).status(); !status.ok()) report.problems.push_back(status.ToString());
  for (std::string& problem : model.Check(*store, true)) report.problems.push_back(std::move(problem));
  const EngineTotals totals = store->GetStatus().totals;
  store.reset();
  if (std::string problem = CompareLiveBytes(data_dir, totals); !problem.empty()) report.problems.push_back(problem);
}

void WorkTogether(BlobStore& store, const Contents& contents, const Script& script, Model& model,
                  const Workers& workers, absl::FunctionRef<bool()> power_is_lost, CrashReport& report) {
  std::mutex mutex;
  const auto work = [&](int thread) {
    for (int index = 0; index < workers.operations && !power_is_lost(); ++index) {
      const Operation operation = script.At(thread, index);
      model.Begin(thread, operation);
      const absl::Status answer = Perform(store, contents, operation);
      const std::string problem = model.End(thread, answer);
      std::lock_guard lock(mutex);
      if (problem.empty()) {
        ++report.acknowledged;
      } else if (!power_is_lost() || absl::IsDataLoss(answer)) {
        report.problems.push_back(problem);
        return;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < workers.threads; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
}

void PrintReport(const char* crashes, const CrashReport& report, uint64_t next_seed) {
  for (const std::string& problem : report.problems) std::printf("%s\n", problem.c_str());
  std::printf("%llu %s, %llu in a start; %llu operations acknowledged; longest start %.0f ms; next seed %llu\n",
              static_cast<unsigned long long>(report.crashes), crashes,
              static_cast<unsigned long long>(report.crashes_in_start),
              static_cast<unsigned long long>(report.acknowledged), report.longest_start_seconds * 1000,
              static_cast<unsigned long long>(next_seed));
}

CrashReport RunCrashes(const std::string& data_dir, const CrashOptions& options) {
  CrashReport report = CrashRun(data_dir, options).Run();
  for (std::string& problem : report.problems) {
    problem =
        absl::StrCat("seed ", options.seed, ", threads ", options.threads, ", crash ", report.crashes, ": ", problem);
  }
  return report;
}

std::string CompareLiveBytes(const std::string& data_dir, const EngineTotals& totals) {
  const std::string path = data_dir + "/db";
  std::vector<std::string> names;
  rocksdb::Status status = rocksdb::DB::ListColumnFamilies({}, path, &names);
  if (!status.ok()) return status.ToString();
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  status = rocksdb::DB::OpenForReadOnly({}, path, families, &handles, &opened);
  if (!status.ok()) return status.ToString();
  const std::unique_ptr<rocksdb::DB> db(opened);
  uint64_t live_bytes = 0;
  for (rocksdb::ColumnFamilyHandle* family : handles) {
    const std::unique_ptr<rocksdb::Iterator> row(db->NewIterator({}, family));
    for (row->SeekToFirst(); row->Valid(); row->Next()) live_bytes += row->key().size() + row->value().size();
    if (!row->status().ok()) status = row->status();
  }
  for (rocksdb::ColumnFamilyHandle* family : handles) db->DestroyColumnFamilyHandle(family).PermitUncheckedError();
  if (!status.ok()) return status.ToString();
  const uint64_t limit_bytes = totals.content_bytes + totals.content_bytes / 100 + kFixedBytes +
                               kRowBytes * (totals.blobs + totals.references + totals.buckets);
  if (live_bytes <= limit_bytes) return "";
  return absl::StrCat("the database holds ", live_bytes, " bytes for ", totals.content_bytes, " bytes of content");
}

std::string FastDirectory() {
  constexpr uint64_t kEnoughBytes = uint64_t{2} << 30;
  std::error_code error;
  const fs::space_info memory = fs::space("/dev/shm", error);
  return !error && memory.available >= kEnoughBytes ? "/dev/shm" : fs::temp_directory_path().string();
}

}  // namespace coffer::faults
