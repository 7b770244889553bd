// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "storage/rocks/committer.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/meta_rows.h"

namespace coffer::rocks {

// Gives out content ids. One that never became durable, because its upload was abandoned or the process died, may be
// given out again by a later process; nothing is left that has it. Thread-safe.
class ContentIds {
 public:
  // `next`: the number that is stored.
  explicit ContentIds(ContentId next) : next_(next) {}

  ContentId Take() { return next_++; }

  // Adds to a batch that makes an id durable what keeps it from being given out again.
  void Reserve(Database& database, Batch& batch) const {
    batch.Put(database.meta(), kNextContentKey, EncodeNumber(kNextContentKey, next_));
  }

 private:
  std::atomic<ContentId> next_;
};

}  // namespace coffer::rocks
