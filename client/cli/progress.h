// SPDX-License-Identifier: Apache-2.0
//
// The progress line on stderr: bytes, rate, and the time that is left when the total is known. Only drawn when
// stderr is a terminal.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace coffer::client::cli {

struct ProgressState {
  uint64_t bytes = 0;
  uint64_t total_bytes = 0;  // 0: unknown
  uint64_t items = 0;
  absl::Duration elapsed;
};

// One line without its end: "12 files  1.0 GiB of 2.0 GiB  50%  512.0 MiB/s  ETA 0:02".
std::string FormatProgress(const ProgressState& state, const std::string& items_word);

// Thread-safe. Draws from a thread of its own until it is destroyed.
class Progress {
 public:
  // `items_word`: what is counted, "files" or "blobs".
  Progress(bool enabled, std::string items_word);
  ~Progress();

  void AddBytes(int64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void AddTotalBytes(uint64_t bytes) { total_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void AddItem() { items_.fetch_add(1, std::memory_order_relaxed); }
  void Set(uint64_t items, uint64_t bytes);

 private:
  void Run();

  const std::string items_word_;
  const absl::Time start_ = absl::Now();
  std::atomic<int64_t> bytes_{0};
  std::atomic<uint64_t> total_bytes_{0};
  std::atomic<uint64_t> items_{0};
  std::mutex mutex_;  // guards stopping_
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace coffer::client::cli
