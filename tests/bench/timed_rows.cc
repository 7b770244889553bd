// SPDX-License-Identifier: Apache-2.0
// Samples are taken in turns, so that a slow moment of the machine hits both sides.
#include "tests/bench/timed_rows.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace coffer::bench {
namespace {

volatile unsigned char consumed;

// Long enough that reading the clock does not count.
constexpr double kSampleNs = 100e3;

double TimeOf(const std::function<void()>& work, size_t calls) {
  const double start = NowNs();
  for (size_t i = 0; i < calls; ++i) work();
  return (NowNs() - start) / static_cast<double>(calls);
}

// Calls that fill a sample.
size_t CallsFor(const std::function<void()>& work) {
  return static_cast<size_t>(std::max(1.0, kSampleNs / std::max(TimeOf(work, 3), 1.0)));
}

void RunOn(long first_core, long end_core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (long core = first_core; core < end_core; ++core) CPU_SET(static_cast<size_t>(core), &set);
  sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace

double NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void Consume(unsigned char byte) { consumed = byte; }

void PinToOneCore() {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  RunOn(cores - 1, cores);
}

void Unpin() { RunOn(0, sysconf(_SC_NPROCESSORS_ONLN)); }

void TimedRows::Add(const std::string& name, const std::function<void()>& ours, const std::string& control,
                    const std::function<void()>& theirs) {
  if (!Wants(name)) return;
  const size_t our_calls = CallsFor(ours);
  const size_t their_calls = CallsFor(theirs);
  const double turn_ns = std::max(TimeOf(ours, 1) + TimeOf(theirs, 1), 2 * kSampleNs);
  // Long calls get fewer turns, but never too few for a median.
  const double budget_ns = options_.quick ? 0.3e9 : 3e9;
  const int turns = std::clamp(static_cast<int>(budget_ns / turn_ns), options_.quick ? 3 : 7, options_.quick ? 7 : 31);
  AddTimes(
      name, turns, [&] { return TimeOf(ours, our_calls); }, control, [&] { return TimeOf(theirs, their_calls); });
}

void TimedRows::AddTimes(const std::string& name, int turns, const std::function<double()>& ours_ns,
                         const std::string& control, const std::function<double()>& theirs_ns) {
  if (!Wants(name)) return;
  Row row;
  row.name = name;
  row.unit = "ns";
  row.control = control;
  row.higher_is_better = false;
  Alternate(row, turns, ours_ns, theirs_ns);
  Print(row);
}

void TimedRows::Print(const Row& row) {
  if (!title_.empty() && !options_.json) std::printf("\n%s\n", title_.c_str());
  title_.clear();
  table_.Print(row);
}

}  // namespace coffer::bench
