// SPDX-License-Identifier: Apache-2.0
#include "client/cli/progress.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/output.h"

namespace coffer::client::cli {
namespace {

constexpr std::chrono::milliseconds kRedrawPeriod(200);

std::string FormatEta(double seconds) {
  const auto whole = static_cast<int64_t>(std::min(seconds, 359999.0));
  if (whole >= 3600) {
    return absl::StrFormat("%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
}

}  // namespace

std::string FormatProgress(const ProgressState& state, const std::string& items_word) {
  std::string line = absl::StrCat(state.items, " ", items_word, "  ", FormatBytes(state.bytes));
  const double seconds = std::max(absl::ToDoubleSeconds(state.elapsed), 0.001);
  const double rate = static_cast<double>(state.bytes) / seconds;
  const bool known = state.total_bytes > 0 && state.bytes <= state.total_bytes;
  if (known) {
    absl::StrAppend(&line, " of ", FormatBytes(state.total_bytes), "  ",
                    static_cast<int>(100.0 * static_cast<double>(state.bytes) / static_cast<double>(state.total_bytes)),
                    "%");
  }
  absl::StrAppend(&line, "  ", FormatBytes(static_cast<uint64_t>(rate)), "/s");
  if (known && rate > 0) {
    absl::StrAppend(&line, "  ETA ", FormatEta(static_cast<double>(state.total_bytes - state.bytes) / rate));
  }
  return line;
}

Progress::Progress(bool enabled, std::string items_word) : items_word_(std::move(items_word)) {
  if (enabled) thread_ = std::thread([this] { Run(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  std::fputs("\r\x1b[K", stderr);
}

void Progress::Set(uint64_t items, uint64_t bytes) {
  items_.store(items, std::memory_order_relaxed);
  bytes_.store(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

void Progress::Run() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kRedrawPeriod, [this] { return stopping_; })) {
    const ProgressState state{static_cast<uint64_t>(std::max<int64_t>(bytes_.load(), 0)), total_bytes_.load(),
                              items_.load(), absl::Now() - start_};
    const std::string line = absl::StrCat("\r\x1b[K", FormatProgress(state, items_word_));
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
}

}  // namespace coffer::client::cli
