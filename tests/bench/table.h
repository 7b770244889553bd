// SPDX-License-Identifier: Apache-2.0
//
// How every bench reports: medians beside a control measured in the same run. A ratio above 1 means that coffer is
// better.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace coffer::bench {

struct Row {
  std::string name;
  std::string unit;
  std::vector<double> samples;
  // Empty: a figure without a control.
  std::string control;
  std::vector<double> control_samples;
  // For times a ratio is control / value, for rates value / control.
  bool higher_is_better = true;
};

double Median(std::vector<double> samples);

// The sample that `fraction` of all are not above, by nearest rank. 0 if there is none.
double Percentile(std::vector<double> samples, double fraction);

// Prints rows as they come: a table for people, or with `json` one object a line.
class Table {
 public:
  explicit Table(bool json) : json_(json) {}
  void Print(const Row& row);

 private:
  const bool json_;
  bool has_head_ = false;
};

// Runs `value` and `control` in turn, `rounds` times, so that both meet the same noise.
void Alternate(Row& row, int rounds, const std::function<double()>& value, const std::function<double()>& control);

// Something measured, and where its samples go.
struct Side {
  std::function<double()> measure;
  std::vector<double>& samples;
};

// The same for any number of sides, and with what is to happen before each turn.
void Alternate(int rounds, const std::vector<Side>& sides, const std::function<void()>& before_turn);

// Seconds that `work` takes.
double Seconds(const std::function<void()>& work);

}  // namespace coffer::bench
