// SPDX-License-Identifier: Apache-2.0
//
// The store in this process, each figure beside its control of the same run. README.md tells what the rows mean, and
// storage/ has a file for each kind.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/bench/storage/storage_bench.h"

namespace coffer::bench {
namespace {

void RunAll(const StorageBenchOptions& options) {
  StorageBench bench(options);
  SmallPutRows(bench);
  DuplicateRows(bench);
  BatchRows(bench);
  LargePutRows(bench);
  WriteAmplificationRows(bench);
  ReadRows(bench);
  GrowthRows(bench);
  LatencyRows(bench);
  IngestRows(bench);
}

int Main(int argc, char** argv) {
  CLI::App app("What the store costs beside a raw file and raw RocksDB.");
  StorageBenchOptions options;
  std::string reopened;
  CLI::Option* const quick = app.add_flag("--quick", options.quick, "End within 30 seconds");
  app.add_flag("--long", options.long_run, "Also what takes many minutes and some 30 GB of disk")->excludes(quick);
  app.add_flag("--json", options.json, "One object a line");
  app.add_option("--only", options.only, "Only rows whose name contains this");
  app.add_option("--dir", options.directory, "Where to write: new or empty, and removed afterwards")
      ->default_val("storage-bench-data");
  app.add_option("--reopen", reopened, "Open this store, look up what is absent, tell the cost")->group("");
  CLI11_PARSE(app, argc, argv);
  if (!reopened.empty()) {
    ReportReopened(reopened);
    return 0;
  }
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  const bool is_empty = !error && std::filesystem::is_empty(options.directory, error);
  if (error || !is_empty) {
    std::fprintf(stderr, "storage_bench: --dir %s: %s\n", options.directory.c_str(),
                 error ? error.message().c_str() : "not empty; name a directory that is new or empty");
    return 2;
  }
  RunAll(options);
  std::filesystem::remove_all(options.directory);
  return 0;
}

}  // namespace
}  // namespace coffer::bench

int main(int argc, char** argv) { return coffer::bench::Main(argc, argv); }
