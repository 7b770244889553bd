// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/encoding.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hashing/bytes.h"
#include "hashing/hasher.h"
#include "storage/names.h"

namespace coffer::rocks {
namespace {

constexpr uint8_t kRowVersion = 1;
constexpr size_t kCheckBytes = 8;
// Beside the placement in a record.
constexpr uint8_t kQuarantinedBit = 0x80;

enum class Kind : char {
  kRecord = 'r',
  kReference = 'n',
  kBucket = 'b',
  kTotals = 't',
  kNumber = 'i',
  kText = 's',
  kErased = 'e',
  kLease = 'l',
  kScrubState = 'c',
};

// The first bytes of a BLAKE3 over kind, key and body. The key's length goes in first, so that no other split
// of the same bytes gives the same check.
std::string Check(Kind kind, absl::string_view key, absl::string_view body) {
  const std::string head = absl::StrCat(std::string(1, static_cast<char>(kind)), BigEndian64(key.size()));
  Hasher hasher;
  hasher.Update(BytesOf(head));
  hasher.Update(BytesOf(key));
  hasher.Update(BytesOf(body));
  return std::string(hasher.Finalize().view().substr(0, kCheckBytes));
}

class Writer {
 public:
  Writer() : out_(1, static_cast<char>(kRowVersion)) {}

  void Number64(uint64_t value) { Number(value, 8); }
  void Number8(uint64_t value) { Number(value, 1); }
  void Number16(uint64_t value) { Number(value, 2); }
  void Bytes(absl::string_view bytes) { out_.append(bytes.data(), bytes.size()); }
  // At most 65,535 bytes; every limit of names.h is far below.
  void Sized(absl::string_view bytes) {
    Number16(bytes.size());
    Bytes(bytes);
  }
  std::string Seal(Kind kind, absl::string_view key) && {
    out_ += Check(kind, key, out_);
    return std::move(out_);
  }

 private:
  void Number(uint64_t value, int width_bytes) {
    for (int i = 0; i < width_bytes; ++i) out_.push_back(static_cast<char>(value >> (8 * i)));
  }

  std::string out_;
};

// Reads what Writer wrote. After the first thing that does not fit, ok() is false and every value is empty.
class Reader {
 public:
  explicit Reader(absl::string_view value) : all_(value), rest_(value) {
    if (Bytes(1) != absl::string_view(reinterpret_cast<const char*>(&kRowVersion), 1)) ok_ = false;
  }

  uint64_t Number64() { return Number(8); }
  uint64_t Number8() { return Number(1); }
  uint64_t Number16() { return Number(2); }
  absl::string_view Bytes(size_t count) {
    if (!ok_ || rest_.size() < count) {
      ok_ = false;
      return {};
    }
    const absl::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }
  absl::string_view Sized() { return Bytes(Number16()); }
  bool ok() const { return ok_; }
  absl::string_view rest() const { return rest_; }

  // Compares the check that comes next with what was read so far.
  bool CheckFits(Kind kind, absl::string_view key) {
    const absl::string_view body = all_.substr(0, all_.size() - rest_.size());
    const absl::string_view found = Bytes(kCheckBytes);
    return ok_ && found == Check(kind, key, body);
  }

 private:
  uint64_t Number(size_t width_bytes) {
    uint64_t value = 0;
    const absl::string_view bytes = Bytes(width_bytes);
    for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    return value;
  }

  const absl::string_view all_;
  absl::string_view rest_;
  bool ok_ = true;
};

absl::Status DamagedRow(absl::string_view what) {
  return absl::DataLossError(absl::StrCat(what, " is damaged: its stored row does not match its check"));
}

}  // namespace

std::string BigEndian64(uint64_t value) {
  std::string bytes(8, '\0');
  for (int i = 7; i >= 0; --i, value >>= 8) bytes[i] = static_cast<char>(value);
  return bytes;
}

std::string EncodeRecord(const Digest& digest, const Record& record, absl::string_view inline_content) {
  Writer writer;
  writer.Number8(static_cast<uint8_t>(record.placement) | (record.is_quarantined ? kQuarantinedBit : 0));
  writer.Number64(record.size_bytes);
  writer.Number64(record.content_id);
  writer.Number64(record.first_bucket);
  writer.Sized(record.first_name);
  std::string value = std::move(writer).Seal(Kind::kRecord, digest.view());
  value.append(inline_content.data(), inline_content.size());
  return value;
}

absl::StatusOr<RecordRow> DecodeRecord(const Digest& digest, absl::string_view value) {
  Reader reader(value);
  RecordRow decoded;
  const uint64_t placement = reader.Number8();
  decoded.record.placement = static_cast<Placement>(placement & ~uint64_t{kQuarantinedBit});
  decoded.record.is_quarantined = (placement & kQuarantinedBit) != 0;
  decoded.record.size_bytes = reader.Number64();
  decoded.record.content_id = reader.Number64();
  decoded.record.first_bucket = reader.Number64();
  decoded.record.first_name = std::string(reader.Sized());
  if (!reader.CheckFits(Kind::kRecord, digest.view())) {
    return DamagedRow(absl::StrCat("the record of blob ", digest.ToHex()));
  }
  decoded.inline_content = reader.rest();
  return decoded;
}

std::string ReferenceKey(BucketId bucket, absl::string_view name) { return absl::StrCat(BigEndian64(bucket), name); }

std::string NameInReferenceKey(absl::string_view key) {
  key.remove_prefix(std::min<size_t>(key.size(), sizeof(BucketId)));
  return std::string(key);
}

std::string EncodeReference(absl::string_view key, const Reference& reference) {
  Writer writer;
  writer.Bytes(reference.digest.view());
  writer.Number64(reference.size_bytes);
  writer.Number64(static_cast<uint64_t>(absl::ToUnixMicros(reference.created)));
  writer.Number16(reference.metadata.size());
  for (const auto& [name, value] : reference.metadata) {
    writer.Sized(name);
    writer.Sized(value);
  }
  return std::move(writer).Seal(Kind::kReference, key);
}

absl::StatusOr<Reference> DecodeReference(absl::string_view key, absl::string_view bucket, absl::string_view value) {
  Reader reader(value);
  Reference reference;
  reference.bucket = std::string(bucket);
  reference.name = NameInReferenceKey(key);
  const absl::StatusOr<Digest> digest = Digest::FromBytes(reader.Bytes(Digest::kSizeBytes));
  reference.size_bytes = reader.Number64();
  reference.created = absl::FromUnixMicros(static_cast<int64_t>(reader.Number64()));
  for (uint64_t pairs = reader.Number16(); pairs > 0 && reader.ok(); --pairs) {
    std::string name(reader.Sized());
    reference.metadata.emplace(std::move(name), reader.Sized());
  }
  if (!digest.ok() || !reader.CheckFits(Kind::kReference, key) || !reader.rest().empty()) {
    return DamagedRow(absl::StrCat("name ", Quoted(reference.name), " of bucket ", Quoted(bucket)));
  }
  reference.digest = *digest;
  return reference;
}

std::string LinkKey(const Digest& digest, BucketId bucket, absl::string_view name) {
  return absl::StrCat(digest.view(), BigEndian64(bucket), name);
}

std::string EncodeBucket(absl::string_view name, const BucketRow& row) {
  Writer writer;
  writer.Number64(row.id);
  writer.Number64(static_cast<uint64_t>(absl::ToUnixMicros(row.created)));
  return std::move(writer).Seal(Kind::kBucket, name);
}

absl::StatusOr<BucketRow> DecodeBucket(absl::string_view name, absl::string_view value) {
  Reader reader(value);
  BucketRow row;
  row.id = reader.Number64();
  row.created = absl::FromUnixMicros(static_cast<int64_t>(reader.Number64()));
  if (!reader.CheckFits(Kind::kBucket, name) || !reader.rest().empty()) {
    return DamagedRow(absl::StrCat("bucket ", Quoted(name)));
  }
  return row;
}

std::string LeaseKey(const Digest& digest, BucketId bucket) { return absl::StrCat(digest.view(), BigEndian64(bucket)); }

std::string EncodeLease(absl::string_view key, uint64_t until_ms) {
  Writer writer;
  writer.Number64(until_ms);
  return std::move(writer).Seal(Kind::kLease, key);
}

absl::StatusOr<uint64_t> DecodeLease(absl::string_view key, absl::string_view value) {
  Reader reader(value);
  const uint64_t until_ms = reader.Number64();
  if (!reader.CheckFits(Kind::kLease, key) || !reader.rest().empty()) return DamagedRow("a lease");
  return until_ms;
}

std::string PieceKey(ContentId content, const PieceId& id) {
  std::string key = BigEndian64(content);
  for (int shift = 24; shift >= 0; shift -= 8) key.push_back(static_cast<char>(id.segment >> shift));
  key.push_back(static_cast<char>(id.level));
  key.push_back(static_cast<char>(id.row));
  return key;
}

std::string EncodeErased(absl::string_view key, const Erased& erased) {
  Writer writer;
  writer.Number8(static_cast<uint8_t>(erased.placement));
  writer.Number64(erased.size_bytes);
  return std::move(writer).Seal(Kind::kErased, key);
}

absl::StatusOr<Erased> DecodeErased(absl::string_view key, absl::string_view value) {
  Reader reader(value);
  Erased erased;
  erased.placement = static_cast<Placement>(reader.Number8());
  erased.size_bytes = reader.Number64();
  if (!reader.CheckFits(Kind::kErased, key) || !reader.rest().empty()) {
    return DamagedRow("the note of content to be removed");
  }
  return erased;
}

std::string EncodeScrubState(absl::string_view key, const ScrubState& state) {
  Writer writer;
  writer.Number8(static_cast<uint8_t>(state.phase));
  writer.Sized(state.position);
  writer.Number64(static_cast<uint64_t>(absl::ToUnixMicros(state.cycle_start)));
  writer.Number64(static_cast<uint64_t>(absl::ToUnixMicros(state.last_completed_start)));
  for (const uint64_t number : {state.blobs_checked, state.bytes_checked, state.rows_checked, state.findings,
                                state.cycles_completed, state.rate_bytes_per_second.value_or(0)}) {
    writer.Number64(number);
  }
  writer.Number8(state.rate_bytes_per_second.has_value() ? 1 : 0);
  writer.Number8(state.is_paused ? 1 : 0);
  return std::move(writer).Seal(Kind::kScrubState, key);
}

absl::StatusOr<ScrubState> DecodeScrubState(absl::string_view key, absl::string_view value) {
  Reader reader(value);
  ScrubState state;
  state.phase = static_cast<ScrubState::Phase>(reader.Number8());
  state.position = std::string(reader.Sized());
  state.cycle_start = absl::FromUnixMicros(static_cast<int64_t>(reader.Number64()));
  state.last_completed_start = absl::FromUnixMicros(static_cast<int64_t>(reader.Number64()));
  uint64_t rate_bytes_per_second = 0;
  for (uint64_t* number : {&state.blobs_checked, &state.bytes_checked, &state.rows_checked, &state.findings,
                           &state.cycles_completed, &rate_bytes_per_second}) {
    *number = reader.Number64();
  }
  if (reader.Number8() != 0) state.rate_bytes_per_second = rate_bytes_per_second;
  state.is_paused = reader.Number8() != 0;
  if (!reader.CheckFits(Kind::kScrubState, key) || !reader.rest().empty()) return DamagedRow("the scrubber's row");
  return state;
}

std::string EncodeTotals(absl::string_view key, const EngineTotals& totals) {
  Writer writer;
  for (uint64_t number :
       {totals.blobs, totals.content_bytes, totals.references, totals.referenced_bytes, totals.buckets}) {
    writer.Number64(number);
  }
  return std::move(writer).Seal(Kind::kTotals, key);
}

absl::StatusOr<EngineTotals> DecodeTotals(absl::string_view key, absl::string_view value) {
  Reader reader(value);
  EngineTotals totals;
  for (uint64_t* number :
       {&totals.blobs, &totals.content_bytes, &totals.references, &totals.referenced_bytes, &totals.buckets}) {
    *number = reader.Number64();
  }
  if (!reader.CheckFits(Kind::kTotals, key) || !reader.rest().empty()) return DamagedRow("the row of totals");
  return totals;
}

std::string EncodeText(absl::string_view key, absl::string_view text) {
  Writer writer;
  writer.Sized(text);
  return std::move(writer).Seal(Kind::kText, key);
}

absl::StatusOr<std::string> DecodeText(absl::string_view key, absl::string_view value) {
  Reader reader(value);
  std::string text(reader.Sized());
  if (!reader.CheckFits(Kind::kText, key) || !reader.rest().empty()) {
    return DamagedRow(absl::StrCat("the text ", Quoted(key)));
  }
  return text;
}

std::string EncodeNumber(absl::string_view key, uint64_t number) {
  Writer writer;
  writer.Number64(number);
  return std::move(writer).Seal(Kind::kNumber, key);
}

absl::StatusOr<uint64_t> DecodeNumber(absl::string_view key, absl::string_view value) {
  Reader reader(value);
  const uint64_t number = reader.Number64();
  if (!reader.CheckFits(Kind::kNumber, key) || !reader.rest().empty()) {
    return DamagedRow(absl::StrCat("the number ", Quoted(key)));
  }
  return number;
}

}  // namespace coffer::rocks
