// SPDX-License-Identifier: Apache-2.0
//
// Who may run: bounds the calls that run at once, and turns new ones away while the server drains.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace coffer {

// Thread-safe. Outlives every Place it gave out.
class Admission {
 public:
  enum class Kind { kCall, kVerify };

  struct Limits {
    // The queue of StorePool stays short enough to be worked off within a client's deadline. It is no bound of memory:
    // a put of more than 8 MiB that stalls holds 5 to 6 MiB, other calls far less.
    size_t calls = 4096;
    // Verifying occupies a store thread and the disk for as long as it runs. Counted within `calls`.
    size_t verifies = 4;
  };

  // A place among the running calls, given back when destroyed.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept;
    Place& operator=(Place&& other) noexcept;
    ~Place();

   private:
    friend class Admission;
    Place(Admission* admission, Kind kind) : admission_(admission), kind_(kind) {}

    Admission* admission_ = nullptr;
    Kind kind_ = Kind::kCall;
  };

  explicit Admission(Limits limits) : limits_(limits) {}

  // UNAVAILABLE after Close, RESOURCE_EXHAUSTED at a limit.
  absl::StatusOr<Place> Admit(Kind kind);

  // Admits nobody from now on.
  void Close();

  // Waits until no call runs, at most until `deadline`. Returns whether none does.
  bool WaitUntilIdle(absl::Time deadline);

 private:
  void Leave(Kind kind);

  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable left_;
  bool closed_ = false;
  size_t calls_ = 0;
  size_t verifies_ = 0;
};

}  // namespace coffer
