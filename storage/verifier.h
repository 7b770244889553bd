// SPDX-License-Identifier: Apache-2.0
//
// Reads what is stored and reports every place that is not what it was.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hashing/digest.h"
#include "storage/engine.h"
#include "storage/reference.h"

namespace coffer {

// A place that is not what it was when it was stored.
struct VerifyFinding {
  // Absent if what is damaged would have told it: a reference, a bucket.
  std::optional<Digest> digest;
  // Whole chunk groups, cut at the end of the blob; empty if what is damaged is not content.
  ByteRange range;
  // For people; names digest or reference.
  std::string problem;
};

struct VerifyProgress {
  uint64_t blobs_checked = 0;
  uint64_t bytes_checked = 0;
  uint64_t findings = 0;
};

// Receives what a verifier sees, on the calling thread. `progress` is called after every blob and every MiB
// within one; returning false ends the run with CANCELLED.
struct VerifyObserver {
  std::function<bool(const VerifyProgress&)> progress;
  std::function<void(const VerifyFinding&)> finding;
};

// One run; used by one thread. Damage goes to the observer and does not end the run: a status other than OK
// means that not everything in scope was looked at (CANCELLED, UNAVAILABLE, NOT_FOUND).
class Verifier {
 public:
  // Hears of each blob in which damage was found, once it was reported.
  using Examine = std::function<void(const Digest&)>;

  // Both are borrowed. `examine` may be empty.
  Verifier(Engine& engine, const VerifyObserver& observer, Examine examine = {})
      : engine_(engine), observer_(observer), examine_(std::move(examine)) {}

  // `range` lies within the blob and is resolved.
  absl::Status CheckContent(const Digest& digest, Content& content, ByteRange range);

  // Counts a blob that cannot be read at all, because its record or the reference to it is damaged.
  absl::Status ReportUnreadable(const std::optional<Digest>& digest, const absl::Status& problem);

  // Reports content that is missing although `reference` names it, if it still does.
  absl::Status ReportMissing(const Reference& reference);

  // All of a blob. It may have gone since its digest was read, unless `named_by` names it; null: nothing does.
  absl::Status CheckBlob(const Digest& digest, const Reference* named_by);

  // Every reference of a bucket is readable and its blob is stored; with `contents`, that is checked as well.
  absl::Status CheckBucket(absl::string_view bucket, bool contents);

  // Every blob, then every reference.
  absl::Status CheckAll();

 private:
  absl::Status Report(const VerifyFinding& finding);
  absl::Status CheckReference(const Reference& reference, bool contents);
  absl::Status ReportProgress();

  Engine& engine_;
  const VerifyObserver& observer_;
  const Examine examine_;
  VerifyProgress progress_;
};

}  // namespace coffer
