// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace coffer::rocks {

// Time that a store has been served: what the last process stored, and the steady clock since. Thread-safe.
class UptimeClock {
 public:
  explicit UptimeClock(uint64_t stored_ms) : stored_ms_(stored_ms) {}

  uint64_t now_ms() const {
    const auto since = std::chrono::steady_clock::now() - start_;
    return stored_ms_ + static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
  }

 private:
  const uint64_t stored_ms_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace coffer::rocks
