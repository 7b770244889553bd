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

namespace coffer::rocks {

// Fixed-width integers: big-endian in keys, so that they sort; little-endian in values.
std::string BigEndian64(uint64_t value);

// Buckets are known by a number inside, so that deleting one takes a single row.
using BucketId = uint64_t;
// Names the content of a blob; never reused.
using ContentId = uint64_t;
inline constexpr ContentId kInline = 0;

// FORMAT.md 2: record. Where the content of a digest is.
struct Record {
  uint64_t size_bytes = 0;
  // kInline: the pieces stand in this row.
  ContentId content_id = kInline;
  // The first back-link lives here and saves a row; FORMAT.md 4 says how it is removed.
  BucketId first_bucket = 0;
  std::string first_name;
};

// A decoded record row; `inline_pieces` points into the value: the level-1 page, then the row.
struct RecordRow {
  Record record;
  absl::string_view inline_pieces;
};

std::string EncodeRecord(const Digest& digest, const Record& record, absl::string_view page, absl::string_view row);
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

// FORMAT.md 6: piece. Key: content id, then PieceId, in order.
std::string PieceKey(ContentId content, const PieceId& id);

// FORMAT.md 1: identity and counters.
std::string EncodeTotals(absl::string_view key, const EngineTotals& totals);
absl::StatusOr<EngineTotals> DecodeTotals(absl::string_view key, absl::string_view value);
std::string EncodeText(absl::string_view key, absl::string_view text);
absl::StatusOr<std::string> DecodeText(absl::string_view key, absl::string_view value);
std::string EncodeNumber(absl::string_view key, uint64_t number);
absl::StatusOr<uint64_t> DecodeNumber(absl::string_view key, absl::string_view value);

}  // namespace coffer::rocks
