// SPDX-License-Identifier: Apache-2.0
//
// Leases (FORMAT.md 7.1): content that is kept without a reference until an uptime. Taking one condemns the content as
// of its end, so that the collector looks at it then and not before; what it costs follows the leases, not the store.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "storage/reference.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/database.h"
#include "storage/rocks/encoding.h"

namespace coffer::rocks {

// Leases what is stored of `digests` for `bucket`, which is made if it is absent, until `until_ms` of uptime, slice by
// slice; a lease of the bucket that lasts longer stays. Returns what is not stored. RESOURCE_EXHAUSTED, DATA_LOSS,
// UNAVAILABLE; after an error some may be leased.
absl::StatusOr<std::vector<Digest>> LeaseContent(Database& database, Committer& committer, const Bucket& bucket,
                                                 absl::Span<const Digest> digests, uint64_t until_ms);

// When the last live lease of `digest` ends, or nothing; those that have ended are removed. One that cannot be read
// counts as live. DATA_LOSS, UNAVAILABLE.
absl::StatusOr<std::optional<uint64_t>> LiveLease(Database& database, Batch& batch, const Digest& digest);

// Ends the leases of a deleted bucket, slice by slice as bulk work. Reads every lease of the store: deleting a bucket
// is rare. DATA_LOSS, UNAVAILABLE.
absl::Status EndLeases(Database& database, Committer& committer, BucketId bucket);

}  // namespace coffer::rocks
