// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/table.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace coffer::bench {

double Median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const size_t half = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
}

double Percentile(std::vector<double> samples, double fraction) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const auto rank = static_cast<size_t>(std::ceil(fraction * static_cast<double>(samples.size())));
  return samples[std::clamp<size_t>(rank, 1, samples.size()) - 1];
}

void Table::Print(const Row& row) {
  const double value = Median(row.samples);
  const bool has_control = !row.control_samples.empty();
  const double control = Median(row.control_samples);
  const double ratio = !has_control ? 0 : row.higher_is_better ? value / control : control / value;
  if (json_) {
    nlohmann::ordered_json line = {{"name", row.name}, {"value", value}, {"unit", row.unit}};
    line["control"] = has_control ? nlohmann::ordered_json(row.control) : nlohmann::ordered_json();
    line["control_value"] = has_control ? nlohmann::ordered_json(control) : nlohmann::ordered_json();
    line["ratio"] = has_control ? nlohmann::ordered_json(ratio) : nlohmann::ordered_json();
    line["samples"] = row.samples;
    std::printf("%s\n", line.dump().c_str());
  } else {
    if (!has_head_) std::printf("%-52s %14s %-9s %14s  %-28s %6s\n", "", "median", "", "control", "", "ratio");
    std::printf("%-52s %14.4g %-9s", row.name.c_str(), value, row.unit.c_str());
    if (has_control) std::printf(" %14.4g  %-28s %6.2f", control, row.control.c_str(), ratio);
    std::printf("\n");
  }
  has_head_ = true;
  std::fflush(stdout);
}

void Alternate(Row& row, int rounds, const std::function<double()>& value, const std::function<double()>& control) {
  for (int i = 0; i < rounds; ++i) {
    row.control_samples.push_back(control());
    row.samples.push_back(value());
  }
}

void Alternate(int rounds, const std::vector<Side>& sides, const std::function<void()>& before_turn) {
  for (int i = 0; i < rounds; ++i) {
    for (const Side& side : sides) {
      before_turn();
      side.samples.push_back(side.measure());
    }
  }
}

double Seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace coffer::bench
