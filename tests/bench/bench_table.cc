// SPDX-License-Identifier: Apache-2.0
// Medians of samples taken in turns, so that a slow moment of the machine hits both sides.
#include "tests/bench/bench_table.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

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

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Calls that fill a sample.
size_t CallsFor(const std::function<void()>& work) {
  const double once = TimeOf(work, 3);
  return static_cast<size_t>(std::max(1.0, kSampleNs / std::max(once, 1.0)));
}

}  // namespace

double NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

void Consume(unsigned char byte) { consumed = byte; }

void PinToOneCore() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

void Unpin() {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (long i = 0; i < sysconf(_SC_NPROCESSORS_ONLN); ++i) CPU_SET(i, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

void Table::Section(const std::string& title) { title_ = title; }

void Table::Row(const std::string& name, size_t bytes, const std::function<void()>& ours,
                const std::string& control, const std::function<void()>& theirs) {
  if (!Wants(name)) return;
  const size_t our_calls = CallsFor(ours);
  const size_t their_calls = CallsFor(theirs);
  const double call_ns = TimeOf(ours, 1) + TimeOf(theirs, 1);
  const size_t most = options_.quick ? 7 : 31;
  // Long calls get fewer samples, but never fewer than five.
  const double budget_ns = options_.quick ? 0.3e9 : 3e9;
  const size_t samples = std::clamp<size_t>(static_cast<size_t>(budget_ns / std::max(call_ns, 2 * kSampleNs)),
                                            options_.quick ? 3 : 5, most);
  std::vector<double> our_ns;
  std::vector<double> their_ns;
  std::vector<double> ratios;
  for (size_t i = 0; i < samples; ++i) {
    our_ns.push_back(TimeOf(ours, our_calls));
    their_ns.push_back(TimeOf(theirs, their_calls));
    ratios.push_back(their_ns.back() / our_ns.back());
  }
  Print(name, Median(our_ns), control, Median(their_ns), Median(ratios), samples, bytes);
}

void Table::Print(const std::string& name, double ours_ns, const std::string& control, double control_ns,
                  double ratio, size_t samples, size_t bytes) {
  if (!title_.empty() && !options_.json) {
    std::printf("\n%s\n%-34s %14s %9s   %-22s %14s %7s\n", title_.c_str(), "row", "coffer ns", "GB/s",
                "control", "control ns", "ratio");
  }
  title_.clear();
  if (options_.json) {
    std::printf(
        "{\"name\":\"%s\",\"value\":%.1f,\"unit\":\"ns\",\"control\":\"%s\",\"control_value\":%.1f,\"ratio\":"
        "%.3f,"
        "\"samples\":%zu}\n",
        name.c_str(), ours_ns, control.c_str(), control_ns, ratio, samples);
  } else {
    std::printf("%-34s %14.0f %9.2f   %-22s %14.0f %7.2f\n", name.c_str(), ours_ns,
                static_cast<double>(bytes) / ours_ns, control.c_str(), control_ns, ratio);
  }
  std::fflush(stdout);
}

}  // namespace coffer::bench
