// SPDX-License-Identifier: Apache-2.0
//
// What a store must show: every change that was acknowledged, of those under way at a crash each one wholly or not at
// all, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/blob_store.h"
#include "tests/faults/contents.h"
#include "tests/faults/operation.h"

namespace coffer::faults {

// Thread-safe; each thread has one operation under way at most.
class Model {
 public:
  // `contents` is borrowed.
  explicit Model(const Contents& contents) : contents_(contents) {}

  // An operation begins; it ended with an answer. One that has not ended may have happened. Returns what is wrong with
  // the answer, or "".
  void Begin(int thread, const Operation& operation);
  std::string End(int thread, const absl::Status& answer);

  // Learns from a store that was opened after a crash which of the operations under way have happened, and compares all
  // that it shows and holds. Returns what is wrong, a line each, and of much only the first.
  // `is_collected`: there must be no garbage.
  std::vector<std::string> Check(BlobStore& store, bool is_collected = false);

  uint64_t references() const;

 private:
  struct Reference {
    ContentId content = 0;
    std::string serial;
    auto operator<=>(const Reference&) const = default;
  };
  using Bucket = std::map<std::string, Reference>;
  using Buckets = std::map<std::string, Bucket>;

  static void Apply(const Operation& operation, Buckets& buckets);

  absl::StatusOr<Buckets> Observe(BlobStore& store);
  void SettleUnderWay(const Buckets& seen, std::vector<std::string>& problems);
  void CompareNames(const Buckets& seen, std::vector<std::string>& problems) const;
  void CompareContent(BlobStore& store, std::vector<std::string>& problems) const;
  void CompareTotals(BlobStore& store, bool is_collected, std::vector<std::string>& problems) const;
  void CompareDeleted(BlobStore& store, std::vector<std::string>& problems) const;

  const Contents& contents_;
  mutable std::mutex mutex_;
  Buckets buckets_;
  std::map<int, Operation> under_way_;
};

}  // namespace coffer::faults
