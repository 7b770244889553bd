// SPDX-License-Identifier: Apache-2.0
//
// Keys and values of FORMAT.md. Decoding checks everything: lengths, the version byte, and a check that covers
// the key as well, so that a row that was damaged, cut or moved to another key is never believed.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/engine.h"
#include "storage/reference.h"
#include "storage/scrub.h"

namespace coffer::rocks {

// Fixed-width integers: big-endian in keys, so that they sort; little-endian in values.
std::string BigEndian64(uint64_t value);

// Buckets are known by a number inside, so that deleting one takes a single row.
using BucketId = uint64_t;
// No bucket has this id: in the record of content that was healed, whose first back-link was lost with the damage.
inline constexpr BucketId kUnknownBucket = 0;
// Names the content of a blob that is not inline; never reused once a row or an ingested file with it is durable. 0 is
// none.
using ContentId = uint64_t;

// FORMAT.md 6: where the pieces of a blob are.
enum class Placement : uint8_t { kInline = 0, kGathered = 1, kIngested = 2 };

// FORMAT.md 2: record. Where the content of a digest is.
struct Record {
  uint64_t size_bytes = 0;
  Placement placement = Placement::kInline;
  ContentId content_id = 0;
  // The first back-link lives here and saves a row; FORMAT.md 4 says how it is removed.
  BucketId first_bucket = kUnknownBucket;
  std::string first_name;
  // The content failed a check: it counts as missing until it is put again (FORMAT.md 7.2).
  bool is_quarantined = false;
};

// A decoded record row; `inline_content` points into the value, and is empty unless the placement is kInline.
struct RecordRow {
  Record record;
  absl::string_view inline_content;
};

std::string EncodeRecord(const Digest& digest, const Record& record, absl::string_view inline_content);
absl::StatusOr<RecordRow> DecodeRecord(const Digest& digest, absl::string_view value);

// FORMAT.md 3: reference. Key: bucket id, name.
std::string ReferenceKey(BucketId bucket, absl::string_view name);
std::string NameInReferenceKey(absl::string_view key);
std::string EncodeReference(absl::string_view key, const Reference& reference);
// `bucket` is the bucket's name; the reference's own name is taken from the key.
absl::StatusOr<Reference> DecodeReference(absl::string_view key, absl::string_view bucket, absl::string_view value);

// FORMAT.md 4: back-link. Key: digest, bucket id, name.
std::string LinkKey(const Digest& digest, BucketId bucket, absl::string_view name);

// FORMAT.md 5: bucket. Key: its name.
struct BucketRow {
  BucketId id = 0;
  absl::Time created;
};
std::string EncodeBucket(absl::string_view name, const BucketRow& row);
absl::StatusOr<BucketRow> DecodeBucket(absl::string_view name, absl::string_view value);

// FORMAT.md 7.1: lease. Key: digest, bucket id. Value: the uptime at which it ends.
std::string LeaseKey(const Digest& digest, BucketId bucket);
std::string EncodeLease(absl::string_view key, uint64_t until_ms);
absl::StatusOr<uint64_t> DecodeLease(absl::string_view key, absl::string_view value);

// FORMAT.md 6: piece. Key: content id, then PieceId, in order.
std::string PieceKey(ContentId content, const PieceId& id);

// FORMAT.md 1: content that was erased and whose pieces are still to be removed.
struct Erased {
  Placement placement = Placement::kGathered;
  uint64_t size_bytes = 0;
};
std::string EncodeErased(absl::string_view key, const Erased& erased);
absl::StatusOr<Erased> DecodeErased(absl::string_view key, absl::string_view value);

// FORMAT.md 7.3: how far the scrubber is.
std::string EncodeScrubState(absl::string_view key, const ScrubState& state);
absl::StatusOr<ScrubState> DecodeScrubState(absl::string_view key, absl::string_view value);

// FORMAT.md 1: identity and counters.
std::string EncodeTotals(absl::string_view key, const EngineTotals& totals);
absl::StatusOr<EngineTotals> DecodeTotals(absl::string_view key, absl::string_view value);
std::string EncodeText(absl::string_view key, absl::string_view text);
absl::StatusOr<std::string> DecodeText(absl::string_view key, absl::string_view value);
std::string EncodeNumber(absl::string_view key, uint64_t number);
absl::StatusOr<uint64_t> DecodeNumber(absl::string_view key, absl::string_view value);

}  // namespace coffer::rocks
