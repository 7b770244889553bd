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
  // Set, if not null, to the number of records, read or not.
  uint64_t* blobs = nullptr;
  // Whether every block of every table file is read.
  bool reads_tables = true;
};

// Checks format, log, table files, rows and content of a store, and changes nothing. Damage goes to the observer, and
// OK is returned all the same: a status other than OK means that not everything could be looked at. NOT_FOUND if there
// is no store, CANCELLED if observer.progress says so, UNAVAILABLE.
absl::StatusOr<VerifyProgress> CheckStore(const CheckOptions& options, const VerifyObserver& observer);

struct Restored {
  uint64_t blobs = 0;
  // The new one.
  std::string store_id;
};

// Makes a store in options.data_dir, which has none, out of a backup; it is checked as a whole before it is there.
// NOT_FOUND if there is no backup in `from`, FAILED_PRECONDITION if there is a store already, DATA_LOSS if the backup
// is damaged, RESOURCE_EXHAUSTED, UNAVAILABLE.
absl::StatusOr<Restored> RestoreStore(const std::string& from, const RocksOptions& options);

struct Salvaged {
  // Of the log, from the damage to its end. They are kept in the directory "salvaged" of the store.
  uint64_t log_bytes = 0;
  // Rows that could not stay without what was lost.
  uint64_t blobs_dropped = 0;
  uint64_t references_dropped = 0;
};

// The way on for a store whose log is damaged: what the log says before the damage is kept, everything behind it is
// lost, and the rows are made to fit each other again. Each loss that it can name goes to `loss`. FAILED_PRECONDITION
// if the log is sound, and nothing is changed; NOT_FOUND if there is no store; DATA_LOSS if more than the log is
// damaged; UNAVAILABLE: it can be run again.
absl::StatusOr<Salvaged> SalvageStore(const RocksOptions& options, const Notice& loss);

}  // namespace coffer
