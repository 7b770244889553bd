// SPDX-License-Identifier: Apache-2.0
//
// What a fault run does: a sequence that follows from a seed alone, so that another process can tell what was under
// way when this one died.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "storage/blob_store.h"
#include "tests/faults/contents.h"

namespace coffer::faults {

struct Operation {
  enum class Kind { kPut, kPutBatch, kBind, kAbandonedPut, kDelete, kCreateBucket, kDeleteBucket, kGet, kCollect };

  Kind kind = Kind::kGet;
  std::string bucket;
  // Put, abandoned or bound: name and content. Deleted or got: the name.
  struct Item {
    std::string name;
    ContentId content = 0;
  };
  std::vector<Item> items;
  // Stored with what is put, and different for each operation of a store: tells an overwritten reference from its
  // successor.
  std::string serial;
  // kGet.
  ByteRange range;
};

std::string Describe(const Operation& operation, const Contents& contents);

// One sequence for each thread. Threads share content but no bucket.
class Script {
 public:
  struct Mix {
    // Out of a hundred operations: puts of more than 8 MiB beyond the usual ones.
    int huge_percent = 0;
    int names = 12;
  };

  Script(uint64_t seed, const Contents& contents, const Mix& mix) : seed_(seed), contents_(contents), mix_(mix) {}

  Operation At(int thread, uint64_t index) const;

  static std::vector<std::string> BucketsOf(int thread);

 private:
  const uint64_t seed_;
  const Contents& contents_;
  const Mix mix_;
};

// The key of the metadata that holds an operation's serial.
inline constexpr char kSerialKey[] = "serial";

// How fault runs use a store: without a grace period, so that a collection has something to take.
BlobStore::Options StoreOptions();

// Does it. NOT_FOUND from a bind or get is an answer like OK. What is read must be bytes of the content that the store
// says it is, or the answer is DATA_LOSS.
absl::Status Perform(BlobStore& store, const Contents& contents, const Operation& operation);

// Reads a range and compares it with the content. DATA_LOSS if it differs.
absl::Status CompareRange(BlobStore& store, const Contents& contents, const BlobSelector& blob, ByteRange range);

}  // namespace coffer::faults
