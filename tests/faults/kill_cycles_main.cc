// SPDX-License-Identifier: Apache-2.0
//
// kill_cycles: stores whose process is killed, one after the other, until so many kills are survived or one is not.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "tests/faults/kill_run.h"
#include "tests/support/temporary_directory.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == coffer::faults::kWork) {
    return coffer::faults::WorkInChild(std::vector<std::string>(argv + 1, argv + argc));
  }
  coffer::faults::KillOptions options;
  options.program = "/proc/self/exe";
  uint64_t cycles = 50;
  CLI::App app("Kills processes that work on stores, and compares the stores with a model");
  app.add_option("--cycles", cycles, "Kills to survive")->capture_default_str();
  app.add_option("--seed", options.seed, "Of the first store; each one more has the next")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads at work")->capture_default_str();
  app.add_option("--kills", options.kills, "Kills of one store")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  coffer::faults::CrashReport total;
  for (; total.crashes < cycles && total.problems.empty(); ++options.seed) {
    const coffer::TemporaryDirectory directory(coffer::faults::FastDirectory());
    total.Add(coffer::faults::RunKills(directory / "data", options));
  }
  coffer::faults::PrintReport("kills", total, options.seed);
  return total.problems.empty() ? 0 : 1;
}
