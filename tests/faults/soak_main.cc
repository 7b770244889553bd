// SPDX-License-Identifier: Apache-2.0
//
// soak: threads put, get, overwrite and delete for a while; the store is compared with the model in between, opened
// anew now and then, and compared at the end.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "absl/time/clock.h"
#include "storage/rocks/rocks_engine.h"
#include "tests/faults/crash_run.h"
#include "tests/support/temporary_directory.h"

namespace coffer::faults {
namespace {

struct SoakOptions {
  uint64_t seed = 1;
  int threads = 4;
  int seconds = 600;
  // Of each thread between two comparisons.
  int operations = 2000;
  int huge_percent = 1;
  // Comparisons after which everything is deleted, and other content takes its place.
  int rounds = 4;
};

void DeleteAll(BlobStore& store, const Contents& contents, Model& model, int threads, CrashReport& report) {
  for (int thread = 0; thread < threads; ++thread) {
    for (const std::string& bucket : Script::BucketsOf(thread)) {
      const Operation operation{Operation::Kind::kDeleteBucket, bucket, {}, "", {}};
      model.Begin(thread, operation);
      const std::string problem = model.End(thread, Perform(store, contents, operation));
      if (!problem.empty()) report.problems.push_back(problem);
    }
  }
}

CrashReport Soak(const std::string& data_dir, const SoakOptions& options) {
  std::mt19937_64 random(options.seed);
  auto contents = std::make_unique<Contents>(random());
  auto model = std::make_unique<Model>(*contents);
  CrashReport report;
  const absl::Time start = absl::Now();
  for (int round = 1; absl::Now() < start + absl::Seconds(options.seconds) && report.problems.empty(); ++round) {
    std::unique_ptr<BlobStore> store = OpenAndCompare(data_dir, nullptr, *model, report);
    if (store == nullptr) break;
    const Script script(random(), *contents, {.huge_percent = options.huge_percent, .names = 40});
    const auto never = [] { return false; };
    WorkTogether(*store, *contents, script, *model, {options.threads, options.operations}, never, report);
    for (std::string& problem : model->Check(*store)) report.problems.push_back(std::move(problem));
    const EngineStatus status = store->GetStatus();
    std::printf("%6.0f s: %llu operations, %llu new blobs, %llu references, %llu MiB of content\n",
                absl::ToDoubleSeconds(absl::Now() - start), static_cast<unsigned long long>(report.acknowledged),
                static_cast<unsigned long long>(status.puts_new),
                static_cast<unsigned long long>(status.totals.references),
                static_cast<unsigned long long>(status.totals.content_bytes >> 20));
    std::fflush(stdout);
    if (round % options.rounds != 0) continue;
    DeleteAll(*store, *contents, *model, options.threads, report);
    for (std::string& problem : model->Check(*store)) report.problems.push_back(std::move(problem));
    model.reset();
    contents = std::make_unique<Contents>(random());
    model = std::make_unique<Model>(*contents);
  }
  if (report.problems.empty()) CompareAtTheEnd(data_dir, nullptr, *model, report);
  return report;
}

}  // namespace
}  // namespace coffer::faults

int main(int argc, char** argv) {
  coffer::faults::SoakOptions options;
  std::string directory;
  CLI::App app("Works on a store and compares it with a model");
  app.add_option("--seconds", options.seconds, "How long")->capture_default_str();
  app.add_option("--seed", options.seed, "Of content and operations")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads at work")->capture_default_str();
  app.add_option("--operations", options.operations, "Of each thread between two comparisons")->capture_default_str();
  app.add_option("--huge-percent", options.huge_percent, "Puts of more than 8 MiB")->capture_default_str();
  app.add_option("--directory", directory, "On the disk to use; default: in memory if there is room");
  CLI11_PARSE(app, argc, argv);
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  const coffer::TemporaryDirectory scratch(directory.empty() ? coffer::faults::FastDirectory() : directory);
  const coffer::faults::CrashReport report = coffer::faults::Soak(scratch / "data", options);
  coffer::faults::PrintReport("crashes", report, options.seed + 1);
  return report.problems.empty() ? 0 : 1;
}
