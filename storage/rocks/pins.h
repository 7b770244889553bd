// SPDX-License-Identifier: Apache-2.0
//
// Content that is being read. Dropping a sorted file ignores RocksDB's snapshots, so this is what keeps the pieces of
// erased content until their last reader has gone.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "storage/rocks/encoding.h"

namespace coffer::rocks {

// Thread-safe. Outlives its pins.
class Pins {
 public:
  // Held while content is read.
  class Pin {
   public:
    Pin(Pins& pins, ContentId content) : pins_(&pins), content_(content) {
      std::lock_guard lock(pins_->mutex_);
      ++pins_->held_[content_];
    }
    Pin(Pin&& other) noexcept : pins_(std::exchange(other.pins_, nullptr)), content_(other.content_) {}
    Pin& operator=(Pin&&) = delete;
    ~Pin() {
      if (pins_ == nullptr) return;
      std::lock_guard lock(pins_->mutex_);
      const auto held = pins_->held_.find(content_);
      if (--held->second == 0) pins_->held_.erase(held);
    }

   private:
    Pins* pins_;
    ContentId content_;
  };

  bool IsPinned(ContentId content) const {
    std::lock_guard lock(mutex_);
    return held_.contains(content);
  }

 private:
  mutable std::mutex mutex_;
  // How many pins each has. Guarded by mutex_.
  absl::flat_hash_map<ContentId, uint32_t> held_;
};

}  // namespace coffer::rocks
