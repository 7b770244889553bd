// SPDX-License-Identifier: Apache-2.0
//
// What an operator does with a store that nobody serves: check it, salvage it, restore a backup of it. All of them take
// the directory's lock, and return FAILED_PRECONDITION if another process has it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/rocks/rocks_engine.h"
#include "storage/verifier.h"

namespace coffer {

struct CheckOptions {
  std::string data_dir;
  // Content is read of the digests that fall into part `subset` of `subsets`, which are as good as random; everything
  // else is checked each time. 1 <= subset <= subsets.
  uint64_t subset = 1;
  uint64_t subsets = 1;
  // As RocksOptions::env.
  rocksdb::Env* env = nullptr;
};

// Checks format, log, table files, rows and content of a store, and changes nothing. Damage goes to the observer, and
// OK is returned all the same: a status other than OK means that not everything could be looked at. NOT_FOUND if there
// is no store, CANCELLED if observer.progress says so, UNAVAILABLE.
absl::StatusOr<VerifyProgress> CheckStore(const CheckOptions& options, const VerifyObserver& observer);

}  // namespace coffer
