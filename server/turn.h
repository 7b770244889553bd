// SPDX-License-Identifier: Apache-2.0
//
// gRPC never runs two reactions of one stream's reads (or writes) at once, but a race detector cannot see that
// inside the system's uninstrumented library. A Turn shows it: whoever hands the stream on calls Give, whoever
// goes on with it calls Take.
#pragma once

#include <atomic>
#include <cstdint>

namespace coffer {

class Turn {
 public:
  void Give() { given_.fetch_add(1, std::memory_order_release); }
  void Take() { (void)given_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint64_t> given_{0};
};

}  // namespace coffer
