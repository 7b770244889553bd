// SPDX-License-Identifier: Apache-2.0
#include "storage/blob_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace coffer {

BlobReader::BlobReader(const Digest& digest, std::unique_ptr<Content> content, std::optional<Reference> reference,
                       ByteRange range, std::function<void(const Digest&)> suspect)
    : digest_(digest),
      content_(std::move(content)),
      reference_(std::move(reference)),
      range_(range),
      suspect_(std::move(suspect)),
      position_bytes_(range.offset_bytes),
      walk_(digest, *content_) {}

absl::StatusOr<size_t> BlobReader::ReadProven(absl::Span<char> out) {
  const uint64_t end = range_.offset_bytes + range_.length_bytes;
  // An empty blob has a digest to prove, too.
  if (content_->size_bytes() == 0) {
    if (absl::StatusOr<absl::string_view> nothing = walk_.Row(0); !nothing.ok()) return nothing.status();
  }
  size_t filled = 0;
  while (filled < out.size() && position_bytes_ < end) {
    if (row_.empty() || position_bytes_ >= row_offset_bytes_ + row_.size()) {
      const uint64_t row = position_bytes_ / kRowBytes;
      row_offset_bytes_ = row * kRowBytes;
      // Only the groups in the range: the cost follows it, and so does the damage that matters.
      const size_t begin_group = (position_bytes_ - row_offset_bytes_) / kGroupBytes;
      const size_t end_group = std::min<uint64_t>(kRowBytes, end - row_offset_bytes_ + kGroupBytes - 1) / kGroupBytes;
      absl::StatusOr<absl::string_view> bytes = walk_.Row(row, begin_group, end_group);
      if (!bytes.ok()) return bytes.status();
      row_ = *bytes;
    }
    const size_t begin = position_bytes_ - row_offset_bytes_;
    const size_t take = std::min<uint64_t>({row_.size() - begin, out.size() - filled, end - position_bytes_});
    std::memcpy(out.data() + filled, row_.data() + begin, take);
    filled += take;
    position_bytes_ += take;
  }
  return filled;
}

}  // namespace coffer
