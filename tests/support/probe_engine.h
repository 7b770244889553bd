// SPDX-License-Identifier: Apache-2.0
//
// An engine that passes everything on to another one, while a test watches, holds or damages what goes through.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "storage/engine.h"

namespace coffer {

// Shared between a test and its ProbeEngine. Thread-safe.
class Probe {
 public:
  // Content bytes that were read from published blobs.
  uint64_t read_bytes();
  // How many Publish calls are waiting in HoldPublishes.
  int held_publishes();
  int published();

  // From now on Publish waits until Release.
  void HoldPublishes();
  void ReleasePublishes();

  // From now on whole blobs (batches) are not published: they get `status`.
  void FailPublishAll(const absl::Status& status);

  // Flips a bit of row `row` of every blob that is read from now on; a negative one stops that.
  void DamageRow(int64_t row);

 private:
  friend class ProbeEngine;
  friend class ProbeStaging;
  friend class ProbeContent;

  void WaitForRelease();
  bool IsDamaged(const PieceId& id);
  absl::Status publish_all_status();

  std::mutex mutex_;
  std::condition_variable released_;
  bool holds_ = false;
  int held_ = 0;
  int published_ = 0;
  uint64_t read_bytes_ = 0;
  int64_t damaged_row_ = -1;
  absl::Status publish_all_status_;
};

std::unique_ptr<Engine> NewProbeEngine(std::unique_ptr<Engine> engine, Probe& probe);

}  // namespace coffer
