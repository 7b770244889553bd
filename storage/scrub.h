// SPDX-License-Identifier: Apache-2.0
//
// What an engine offers to the scrubber (scrubber.h): content as it is on the disk, its rows checked against each
// other, and a place to remember how far it has come.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "hashing/digest.h"
#include "storage/engine.h"

namespace coffer {

// A stored blob on a page of a scan.
struct ScannedBlob {
  Digest digest;
  // Not empty: this is no blob, but something that cannot be read, so that it is not known what it was.
  std::string lost;
  bool is_quarantined = false;
  // Reads from the disk, past every cache, and pins nothing: what was deleted meanwhile may fail to read. DATA_LOSS in
  // place of it if the record on the disk is damaged.
  absl::StatusOr<std::unique_ptr<Content>> content;
};

// A page of stored content, in an order in which the disk is read forward. Used by one thread.
class DiskScan {
 public:
  virtual ~DiskScan() = default;

  // The next blob, or nothing at the end of the page. Its content is valid until the next call. UNAVAILABLE.
  virtual absl::StatusOr<std::optional<ScannedBlob>> Next() = 0;

  // After the end of the page: the greatest digest of it, or nothing if it was empty, for then there are no more.
  virtual std::optional<Digest> last() const = 0;
};

struct ScanLimits {
  // A page ends with the blob that reaches one of them. The order on the disk is that within a page; what a restart
  // reads again is a page as well.
  size_t blobs = 100'000;
  uint64_t content_bytes = uint64_t{4} << 30;
};

// A row that another one contradicts.
struct RowFinding {
  std::optional<Digest> digest;
  // For people; names digest, bucket or reference.
  std::string problem;
};

// A page of a check of rows.
struct RowCheck {
  // To go on from; empty: all were checked.
  std::string next_cursor;
  uint64_t rows = 0;
  std::vector<RowFinding> findings;
};

// What the scrubber remembers across restarts.
struct ScrubState {
  enum class Phase : uint8_t { kBetweenCycles = 0, kContent = 1, kRows = 2 };

  Phase phase = Phase::kBetweenCycles;
  // In kContent the digest after which it goes on, in kRows the cursor.
  std::string position;
  // Of the cycle under way, or the last one.
  absl::Time cycle_start = absl::UnixEpoch();
  uint64_t blobs_checked = 0;
  uint64_t bytes_checked = 0;
  uint64_t rows_checked = 0;
  // Of all cycles.
  uint64_t findings = 0;
  uint64_t cycles_completed = 0;
  // UnixEpoch: none was completed.
  absl::Time last_completed_start = absl::UnixEpoch();
  bool is_paused = false;
  // Absent: chosen by the size of the store. 0: unlimited.
  std::optional<uint64_t> rate_bytes_per_second;

  bool operator==(const ScrubState&) const = default;
};

}  // namespace coffer
