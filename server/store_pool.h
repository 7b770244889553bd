// SPDX-License-Identifier: Apache-2.0
//
// The threads that may wait for the disk. Reactions of gRPC hand their store calls over to these and return.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/functional/any_invocable.h"

namespace coffer {

// Thread-safe. The queue needs no bound of its own: every running call has at most one job in it, and
// Admission bounds the running calls.
class StorePool {
 public:
  // A durable put waits for one sync. Group commit gets its groups from puts that wait together, and gains
  // little above 64 of them; a waiting thread costs only its stack.
  static constexpr size_t kThreads = 64;

  explicit StorePool(size_t threads = kThreads);
  // As Join.
  ~StorePool();
  StorePool(const StorePool&) = delete;
  StorePool& operator=(const StorePool&) = delete;

  // Runs `job` on one of the threads, later. Not to be called after Join.
  void Run(absl::AnyInvocable<void()> job);

  // Waits until every job has run and ends the threads.
  void Join();

 private:
  class Threads;
  const std::unique_ptr<Threads> threads_;
};

}  // namespace coffer
