// SPDX-License-Identifier: Apache-2.0
//
// Reclaims content that nothing refers to, while the store serves. The cost is that of the garbage, not of the store:
//
//   1. whoever takes a reference away condemns what it named, in the same commit;
//   2. content that has been condemned for the grace period is looked at again in a later commit: if it has a
//      reference it is condemned no more, if it is leased it stays condemned, otherwise it is erased, and nobody finds
//      it from then on;
//   3. its space is given back when the last reader has let it go.
//
// A put or bind that comes before 2 keeps the content; one that comes after finds nothing and stores it again. The
// grace period is for clients that have learnt that content is present and are about to bind it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "storage/engine.h"

namespace coffer {

// Thread-safe.
class Collector {
 public:
  // `engine` is borrowed. Nothing runs by itself before Start.
  Collector(Engine& engine, absl::Duration grace) : engine_(engine), grace_(grace) {}
  // Stops after the slice under way.
  ~Collector();

  // Starts a thread that collects every few seconds. What fails is tried again; the first failure of a row of equal
  // ones goes to `report`, on that thread.
  void Start(std::function<void(const absl::Status&)> report);

  // Collects once, in the calling thread; waits for another one that does. `dry_run`: tells what would be erased, and
  // erases nothing. DATA_LOSS (a row is damaged; the others were collected), UNAVAILABLE.
  absl::StatusOr<Erasure> Collect(bool dry_run);

 private:
  absl::StatusOr<Erasure> EraseDue(bool dry_run);
  void Run(const std::function<void(const absl::Status&)>& report);

  Engine& engine_;
  const absl::Duration grace_;
  // Held by whoever collects.
  std::mutex collecting_;
  // Guards what follows.
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace coffer
