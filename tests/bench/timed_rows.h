// SPDX-License-Identifier: Apache-2.0
// Timing two things against each other, in turns, and pinning the thread that does it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tests/bench/table.h"

namespace coffer::bench {

struct Options {
  bool quick = false;  // fewer samples, smaller inputs: ends within 30 seconds
  bool json = false;
  std::string only;  // rows whose name contains this
};

// Nanoseconds of a clock that only goes forward.
double NowNs();

// Keeps the compiler from dropping what computes `byte`.
void Consume(unsigned char byte);

// Pins the calling thread to the last core; serial rows run there.
void PinToOneCore();
// Lets the calling thread, and those it starts, run anywhere again.
void Unpin();

// The rows of a bench that measures times. Values are ns.
class TimedRows {
 public:
  explicit TimedRows(const Options& options) : options_(options), table_(options.json) {}

  bool Wants(const std::string& name) const { return name.find(options_.only) != std::string::npos; }

  // Sets the headline of the rows that follow (not in JSON).
  void Section(const std::string& title) { title_ = title; }

  // Times `ours` and `theirs`, the control, in turns; ns a call.
  void Add(const std::string& name, const std::function<void()>& ours, const std::string& control,
           const std::function<void()>& theirs);

  // The same with functions that return their time, `turns` times each.
  void AddTimes(const std::string& name, int turns, const std::function<double()>& ours_ns, const std::string& control,
                const std::function<double()>& theirs_ns);

 private:
  void Print(const Row& row);

  const Options options_;
  Table table_;
  std::string title_;  // not printed yet
};

}  // namespace coffer::bench
