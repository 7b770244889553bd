// SPDX-License-Identifier: Apache-2.0
// A bounded pool of threads that all uploads share for hashing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace coffer {

// One turn of a short wait that keeps the core: yielding would give a busy machine's other threads a whole
// time slice.
inline void SpinOnce() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// How long a thread spins before it sleeps: about what falling asleep and waking up cost in a virtual
// machine, which is about what hashing 256 KiB takes.
inline constexpr absl::Duration kSpinTime = absl::Microseconds(30);

// Thread-safe. Tasks start in the order in which they were accepted; they must not block on each other.
class WorkerPool {
 public:
  // Starts `threads` >= 1 workers. At most kQueuedTasksPerWorker tasks a worker wait; what finds the queue
  // full is better done by the thread that asks.
  explicit WorkerPool(int threads);

  // Runs what was accepted, then joins the workers.
  ~WorkerPool();

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Accepts `task` and returns true, or returns false, leaving `task` as it was, when the queue is full.
  bool TrySchedule(absl::AnyInvocable<void()>& task);

  // The same, but only if a worker is awake and idle: for tasks that are not worth waking one.
  bool TryHandOver(absl::AnyInvocable<void()>& task);

  // Workers that one stream should ask for: its own thread hashes too, and with as many helpers as cores, one
  // would wait for a core that the others hold.
  int workers_per_stream() const { return workers_per_stream_; }

  // A buffer of `kBufferBytes` for whoever feeds the workers, a used one if there is one: fresh memory costs
  // far more than hashing what it holds. Give it back when done.
  std::unique_ptr<uint8_t[]> TakeBuffer();
  void GiveBack(std::unique_ptr<uint8_t[]> buffer);

  static constexpr size_t kBufferBytes = 256 << 10;
  // 16 MiB: what a dozen streams have in use at a time.
  static constexpr size_t kMaxKeptBuffers = 64;

  static constexpr size_t kQueuedTasksPerWorker = 64;

 private:
  void Run();
  // Waits a little for a task without sleeping, not under the lock.
  void SpinForTask() const;

  // Guards all but waiting_. From the standard library: a thread sanitizer sees through it, which it does
  // not for a mutex in a library that was built without one.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::deque<absl::AnyInvocable<void()>> tasks_;
  // Workers in SpinForTask: they find a task without being woken.
  size_t spinning_ = 0;
  std::vector<std::unique_ptr<uint8_t[]>> kept_buffers_;
  // Size of tasks_, to look at without the lock; stopping counts as one.
  std::atomic<size_t> waiting_{0};
  const int workers_per_stream_;
  std::vector<std::thread> workers_;
};

}  // namespace coffer
