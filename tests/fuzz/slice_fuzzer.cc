// SPDX-License-Identifier: Apache-2.0
// A decoder against a hostile peer: the input chooses a blob, a range, a lie about the size, damage to a true
// slice, or gives the slice itself. Whatever comes, only true bytes of the range are released, and only an
// undamaged slice is accepted.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "hashing/outboard.h"
#include "hashing/slice.h"
#include "hashing/subtree.h"

namespace coffer {
namespace {

uint64_t Take(ByteSpan& input, size_t bytes) {
  uint64_t value = 0;
  const size_t take = std::min(bytes, input.size());
  if (take > 0) std::memcpy(&value, input.data(), take);
  input.remove_prefix(take);
  return value;
}

void Require(bool holds) {
  if (!holds) std::abort();
}

std::string Encode(const std::vector<uint8_t>& blob, const Digest& digest, const Outboard& outboard, ByteRange range) {
  SliceEncoder encoder(digest, blob.size(), range);
  const auto node = [&](GroupIndex first, int height) -> absl::StatusOr<ParentNode> {
    return outboard.Node(first, height);
  };
  const auto group = [&](GroupIndex index, absl::Span<uint8_t> out) {
    std::copy_n(blob.begin() + long(index.offset_bytes()), out.size(), out.begin());
    return absl::OkStatus();
  };
  std::string slice;
  while (true) {
    const absl::StatusOr<bool> more = encoder.Next(node, group, &slice);
    Require(more.ok());
    if (!*more) return slice;
  }
}

void Check(ByteSpan input) {
  const size_t size_bytes = Take(input, 3) % (1 << (Take(input, 1) % 19));
  std::vector<uint8_t> blob(size_bytes);
  for (size_t i = 0; i < size_bytes; ++i) blob[i] = uint8_t(i * 7 + i / 1000);
  Digest digest;
  const Outboard outboard = Outboard::Of(blob, &digest);
  ByteRange range{Take(input, 3), Take(input, 3)};
  if (Take(input, 1) % 8 == 0) range.offset_bytes = Take(input, 8);
  if (Take(input, 1) % 8 == 0) range.length_bytes = Take(input, 8);
  std::string slice = Encode(blob, digest, outboard, range);
  Require(slice.size() == SliceBytes(size_bytes, range));
  const std::string true_slice = slice;

  uint64_t told_bytes = size_bytes;
  const uint64_t kind = Take(input, 1) % 4;
  if (kind == 1) told_bytes = Take(input, 8) >> (Take(input, 1) % 64);
  if (kind == 2 && !slice.empty()) {
    for (int i = 0; i < 3; ++i) {
      char& byte = slice[Take(input, 3) % slice.size()];
      byte = char(byte ^ char(Take(input, 1)));
    }
  }
  if (kind == 3) slice.resize(Take(input, 3) % (slice.size() + 100));
  const size_t piece = 1 + Take(input, 2);
  if (Take(input, 1) % 16 == 0) slice.assign(input.begin(), input.end());

  SliceDecoder decoder(digest, told_bytes, range);
  uint64_t next = range.offset_bytes;
  const auto release = [&](uint64_t offset, ByteSpan bytes) {
    Require(offset == next && offset + bytes.size() <= blob.size());
    Require(std::equal(bytes.begin(), bytes.end(), blob.begin() + long(offset)));
    Require(bytes.size() <= range.length_bytes && offset + bytes.size() - range.offset_bytes <= range.length_bytes);
    next += bytes.size();
  };
  absl::Status status;
  for (size_t at = 0; at < slice.size() && status.ok(); at += piece) {
    status = decoder.Feed(BytesOf(slice).subspan(at, piece), release);
  }
  if (status.ok()) status = decoder.Finish();
  if (told_bytes == size_bytes) Require(status.ok() == (slice == true_slice));
  Require(status.ok() || status.code() == absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace coffer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  coffer::Check(coffer::ByteSpan(data, size));
  return 0;
}
