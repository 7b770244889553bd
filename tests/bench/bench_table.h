// SPDX-License-Identifier: Apache-2.0
// Timing two things against each other, in turns, and printing medians: as a table, or as one JSON object a
// line.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

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

// Collects and prints rows.
class Table {
 public:
  explicit Table(const Options& options) : options_(options) {}

  bool Wants(const std::string& name) const { return name.find(options_.only) != std::string::npos; }

  // Sets the headline of the rows that follow (not in JSON).
  void Section(const std::string& title);

  // Times `ours` and `theirs` in turns, each doing `bytes` bytes of work a call. `control` names theirs. The
  // value is in ns a call; the ratio is the median over the turns of theirs / ours, so above 1 coffer is
  // better.
  void Row(const std::string& name, size_t bytes, const std::function<void()>& ours,
           const std::string& control, const std::function<void()>& theirs);

  // A row whose two times (ns) were taken elsewhere.
  void Print(const std::string& name, double ours_ns, const std::string& control, double control_ns,
             double ratio, size_t samples, size_t bytes);

 private:
  Options options_;
  std::string title_;  // not printed yet
};

}  // namespace coffer::bench
