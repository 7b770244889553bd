// SPDX-License-Identifier: Apache-2.0
//
// crash_cycles: stores that lose their power, one after the other, until so many crashes are survived or one is not.
#include <CLI/CLI.hpp>

#include "tests/faults/crash_run.h"
#include "tests/support/temporary_directory.h"

int main(int argc, char** argv) {
  coffer::faults::CrashOptions options;
  uint64_t cycles = 100;
  CLI::App app("Crashes stores and compares them with a model");
  app.add_option("--cycles", cycles, "Crashes to survive")->capture_default_str();
  app.add_option("--seed", options.seed, "Of the first store; each one more has the next")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads at work")->capture_default_str();
  app.add_option("--crashes", options.crashes, "Crashes of one store")->capture_default_str();
  app.add_option("--operations", options.operations, "Of each thread between two crashes")->capture_default_str();
  app.add_flag("--scrambled", options.leftovers.scrambled_logs, "Unsynced ends of logs may become zeros or garbage");
  app.add_flag("--unordered", options.leftovers.unordered_entries, "Any of the unsynced directory entries may survive");
  CLI11_PARSE(app, argc, argv);

  coffer::faults::CrashReport total;
  for (; total.crashes < cycles && total.problems.empty(); ++options.seed) {
    const coffer::TemporaryDirectory directory(coffer::faults::FastDirectory());
    total.Add(coffer::faults::RunCrashes(directory / "data", options));
  }
  coffer::faults::PrintReport("crashes", total, options.seed);
  return total.problems.empty() ? 0 : 1;
}
