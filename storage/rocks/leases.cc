// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/leases.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "storage/rocks/reference_rows.h"
#include "storage/rocks/rows.h"

namespace coffer::rocks {
namespace {

// Leases that one operation takes or ends: a few milliseconds for the callers that share its batch.
constexpr size_t kLeaseSlice = 512;

absl::Status PutLease(Database& database, Batch& batch, const Digest& digest, BucketId bucket, uint64_t until_ms) {
  const std::string key = LeaseKey(digest, bucket);
  absl::StatusOr<std::optional<std::string>> value = batch.Get(database.leases(), key);
  if (!value.ok()) return value.status();
  const absl::StatusOr<uint64_t> before_ms = DecodeLease(key, value->value_or(""));
  if (!before_ms.ok() || *before_ms < until_ms) batch.Put(database.leases(), key, EncodeLease(key, until_ms));
  absl::StatusOr<std::optional<std::string>> condemned = batch.Get(database.condemned(), digest.view());
  if (!condemned.ok()) return condemned.status();
  const absl::StatusOr<uint64_t> since_ms = DecodeNumber(digest.view(), condemned->value_or(""));
  // Before that there is nothing to look at.
  if (!since_ms.ok() || *since_ms < until_ms) {
    batch.Put(database.condemned(), digest.view(), EncodeNumber(digest.view(), until_ms));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Digest>> LeaseContent(Database& database, Committer& committer, const Bucket& bucket,
                                                 absl::Span<const Digest> digests, uint64_t until_ms) {
  std::vector<Digest> missing;
  while (!digests.empty()) {
    const absl::Span<const Digest> slice = digests.subspan(0, kLeaseSlice);
    digests.remove_prefix(slice.size());
    std::vector<Digest> absent;
    absl::Status status = committer.Commit(0, [&](Batch& batch) -> absl::Status {
      absl::StatusOr<BucketRow> row = EnsureBucket(database, batch, bucket);
      if (!row.ok()) return row.status();
      for (const Digest& digest : slice) {
        absl::StatusOr<Present> present = FindRecord(database, batch, digest);
        if (!present.ok()) return present.status();
        if (!present->is_stored()) {
          absent.push_back(digest);
          continue;
        }
        if (absl::Status put = PutLease(database, batch, digest, row->id, until_ms); !put.ok()) return put;
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    missing.insert(missing.end(), absent.begin(), absent.end());
  }
  return missing;
}

absl::StatusOr<std::optional<uint64_t>> LiveLease(Database& database, Batch& batch, const Digest& digest) {
  std::optional<uint64_t> live_until_ms;
  std::vector<std::string> ended;
  absl::Status status =
      batch.Scan(database.leases(), digest.view(), [&](absl::string_view key, absl::string_view value) {
        const absl::StatusOr<uint64_t> until_ms = DecodeLease(key, value);
        if (until_ms.ok() && *until_ms <= batch.uptime_ms()) {
          ended.emplace_back(key);
        } else {
          live_until_ms = std::max(live_until_ms.value_or(0), until_ms.value_or(batch.uptime_ms()));
        }
        return true;
      });
  if (!status.ok()) return status;
  for (const std::string& key : ended) batch.Delete(database.leases(), key);
  return live_until_ms;
}

absl::Status EndLeases(Database& database, Committer& committer, BucketId bucket) {
  const std::string suffix = BigEndian64(bucket);
  std::string after;
  while (true) {
    std::vector<std::string> keys;
    size_t seen = 0;
    absl::Status status = ScanRows(database, database.leases(), {.prefix = "", .after = after, .limit = kLeaseSlice},
                                   [&](absl::string_view key, absl::string_view) {
                                     ++seen;
                                     after = std::string(key);
                                     if (absl::EndsWith(key, suffix)) keys.push_back(after);
                                     return absl::OkStatus();
                                   });
    if (!status.ok() || seen == 0) return status;
    if (keys.empty()) continue;
    status = committer.Commit(
        0,
        [&](Batch& batch) {
          for (const std::string& key : keys) {
            const absl::string_view digest = absl::string_view(key).substr(0, Digest::kSizeBytes);
            batch.Delete(database.leases(), key);
            batch.Put(database.condemned(), digest, EncodeNumber(digest, batch.uptime_ms()));
          }
          return absl::OkStatus();
        },
        Lane::kBulk);
    if (!status.ok()) return status;
  }
}

}  // namespace coffer::rocks
