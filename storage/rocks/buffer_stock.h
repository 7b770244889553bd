// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace coffer::rocks {

// Buffers of 1 MiB that are used again and again: memory that is fresh from the system is slower than the disk.
// Thread-safe.
class BufferStock {
 public:
  // What a write to the disk should at least be, to be near its best speed.
  static constexpr size_t kBufferBytes = size_t{1} << 20;
  // What direct I/O of every usual disk is content with.
  static constexpr size_t kAlignmentBytes = 4096;

  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  using Buffer = std::unique_ptr<char, Free>;

  Buffer Take() {
    {
      std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        Buffer buffer = std::move(spare_.back());
        spare_.pop_back();
        return buffer;
      }
    }
    return Buffer(static_cast<char*>(std::aligned_alloc(kAlignmentBytes, kBufferBytes)));
  }

  void Give(Buffer buffer) {
    std::lock_guard lock(mutex_);
    if (spare_.size() < kSpareBuffers) spare_.push_back(std::move(buffer));
  }

 private:
  // Two uploads that gather all they may, and their files.
  static constexpr size_t kSpareBuffers = 24;

  std::mutex mutex_;
  std::vector<Buffer> spare_;
};

}  // namespace coffer::rocks
