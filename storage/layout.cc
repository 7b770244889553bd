// SPDX-License-Identifier: Apache-2.0
//
// The pages of a level are closed by the parent of the level's top height: each full page has exactly one, and
// so has the last page if it is more than half full. Whatever is open at the end is the last page of its level.
#include "storage/layout.h"

#include <algorithm>
#include <utility>

namespace coffer {
namespace {

constexpr int kSegmentHeight = 6;
constexpr int kPageHeight = 8;
static_assert(kGroupsPerSegment == size_t{1} << kSegmentHeight);
static_assert(kPagesPerPage == size_t{1} << kPageHeight);

int LevelOfHeight(int height) { return height <= kSegmentHeight ? 1 : 2 + (height - kSegmentHeight - 1) / kPageHeight; }

int TopHeight(int level) { return kSegmentHeight + (level - 1) * kPageHeight; }

uint64_t CeilDivide(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

}  // namespace

uint64_t SegmentCount(uint64_t size_bytes) { return CeilDivide(size_bytes, kSegmentBytes); }

uint64_t SegmentsPerPage(int level) { return uint64_t{1} << ((level - 1) * kPageHeight); }

int TopLevel(uint64_t size_bytes) {
  int level = 1;
  while (SegmentsPerPage(level) < SegmentCount(size_bytes)) ++level;
  return level;
}

uint64_t PageUnits(int level, uint64_t index, uint64_t size_bytes) {
  const uint64_t unit_bytes = level == 1 ? kGroupBytes : SegmentsPerPage(level - 1) * kSegmentBytes;
  const uint64_t fan_out = level == 1 ? kGroupsPerSegment : kPagesPerPage;
  const uint64_t units = CeilDivide(size_bytes, unit_bytes);
  return std::min(fan_out, units - index * fan_out);
}

PieceId PageId(int level, uint64_t index, uint64_t size_bytes) {
  const uint64_t last = std::min((index + 1) * SegmentsPerPage(level), SegmentCount(size_bytes)) - 1;
  return {static_cast<uint32_t>(last), static_cast<uint8_t>(level), 0};
}

PieceId RowId(uint64_t row) {
  return {static_cast<uint32_t>(row / kRowsPerSegment), 0, static_cast<uint8_t>(row % kRowsPerSegment)};
}

void ForEachPiece(uint64_t size_bytes, absl::FunctionRef<void(const PieceId&)> piece) {
  for (uint64_t row = 0; row * kRowBytes < size_bytes; ++row) piece(RowId(row));
  for (int level = 1; size_bytes > 0 && level <= TopLevel(size_bytes); ++level) {
    const uint64_t pages = CeilDivide(SegmentCount(size_bytes), SegmentsPerPage(level));
    for (uint64_t index = 0; index < pages; ++index) {
      if (PageUnits(level, index, size_bytes) > 1) piece(PageId(level, index, size_bytes));
    }
  }
}

void PieceBuilder::AddBytes(absl::string_view bytes) {
  while (!bytes.empty()) {
    if (segments_.empty() || segments_.back().size() == kSegmentBytes) {
      segments_.push_back(std::move(spare_));
      segments_.back().clear();
      spare_ = {};
    }
    std::string& segment = segments_.back();
    const size_t take = std::min(bytes.size(), kSegmentBytes - segment.size());
    // A small blob shall not cost a whole segment; a growing one shall not be moved again and again.
    if (segment.capacity() < segment.size() + take) {
      segment.reserve(segment.empty() ? take : kSegmentBytes);
    }
    segment.append(bytes.data(), take);
    bytes.remove_prefix(take);
  }
}

void PieceBuilder::AddParent(int height, const ParentNode& node) {
  const int level = LevelOfHeight(height);
  Pages& pages = pages_[level];
  pages.open.append(reinterpret_cast<const char*>(&node), kParentBytes);
  if (height == TopHeight(level)) pages.closed.push_back(std::exchange(pages.open, {}));
}

bool PieceBuilder::SegmentIsComplete() const {
  if (segments_.empty() || segments_.front().size() < kSegmentBytes) return false;
  for (int level = 1; level <= kMaxLevel; ++level) {
    if ((next_segment_ + 1) % SegmentsPerPage(level) != 0) break;
    if (pages_[level].closed.empty()) return false;
  }
  return true;
}

absl::Status PieceBuilder::Take(bool at_end, Sink sink) {
  if (at_end) {
    for (Pages& pages : pages_) {
      if (!pages.open.empty()) pages.closed.push_back(std::exchange(pages.open, {}));
    }
  }
  while (at_end ? !segments_.empty() : SegmentIsComplete()) {
    const absl::string_view segment = segments_.front();
    for (size_t begin = 0; begin < segment.size(); begin += kRowBytes) {
      const PieceId id = RowId(next_segment_ * kRowsPerSegment + begin / kRowBytes);
      if (absl::Status status = sink(id, segment.substr(begin, kRowBytes)); !status.ok()) return status;
    }
    const bool is_last = at_end && segments_.size() == 1;
    for (int level = 1; level <= kMaxLevel; ++level) {
      if (!is_last && (next_segment_ + 1) % SegmentsPerPage(level) != 0) break;
      std::deque<std::string>& closed = pages_[level].closed;
      // Only the last page of a level can be missing: it has no parents if it has one unit.
      if (closed.empty()) continue;
      const PieceId id = {static_cast<uint32_t>(next_segment_), static_cast<uint8_t>(level), 0};
      if (absl::Status status = sink(id, closed.front()); !status.ok()) return status;
      closed.pop_front();
    }
    spare_ = std::move(segments_.front());
    segments_.pop_front();
    ++next_segment_;
  }
  return absl::OkStatus();
}

}  // namespace coffer
