// SPDX-License-Identifier: Apache-2.0
//
// How a blob is cut into pieces, free of any database.
//
// Content is cut into rows of 64 KiB; sixteen rows are a segment of 1 MiB, a subtree of 64 chunk groups. The
// parent nodes of the outboard are grouped into pages, so that reading any range needs one page a level:
//
//   level 0   rows of content
//   level 1   a page per segment: parents of heights 1..6 (over 64 chunk groups)
//   level 2   a page per 256 segments: heights 7..14
//   level 3   a page per 65,536 segments: heights 15..22
//   level 4   heights 23..30, enough for 16 TiB
//
// A page holds the parents over its units (groups at level 1, pages of the level below otherwise) in
// post-order, 64 bytes each: one fewer than it has units, so a page of one unit does not exist. Only the last
// page of a level has fewer units than the level's fan-out.
//
// A piece is named by the last segment that it covers, then its level, then its row. In this order the pieces
// of a blob come out while it streams in, so an engine can write them as sorted runs.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hashing/chunk.h"
#include "hashing/subtree.h"

namespace coffer {

inline constexpr size_t kRowBytes = 64 * 1024;
inline constexpr size_t kSegmentBytes = 1024 * 1024;
inline constexpr size_t kRowsPerSegment = kSegmentBytes / kRowBytes;
inline constexpr size_t kGroupsPerRow = kRowBytes / kGroupBytes;
inline constexpr size_t kGroupsPerSegment = kSegmentBytes / kGroupBytes;
inline constexpr size_t kPagesPerPage = 256;
inline constexpr int kMaxLevel = 4;
inline constexpr size_t kParentBytes = sizeof(ParentNode);

struct PieceId {
  // The last segment that the piece covers.
  uint32_t segment = 0;
  uint8_t level = 0;
  // Within the segment; 0 above level 0.
  uint8_t row = 0;

  auto operator<=>(const PieceId&) const = default;
};

// Geometry of the pieces of a blob of `size_bytes`.
uint64_t SegmentCount(uint64_t size_bytes);
// Segments that one full page of `level` covers; `level` is at least 1.
uint64_t SegmentsPerPage(int level);
// The level of the page that holds the root: 1 up to 1 MiB, 2 up to 256 MiB...
int TopLevel(uint64_t size_bytes);
// How many units page `index` of `level` has.
uint64_t PageUnits(int level, uint64_t index, uint64_t size_bytes);
PieceId PageId(int level, uint64_t index, uint64_t size_bytes);
PieceId RowId(uint64_t row);
// Calls `piece` for every piece of a blob of `size_bytes`, rows first.
void ForEachPiece(uint64_t size_bytes, absl::FunctionRef<void(const PieceId&)> piece);

// Cuts a stream and its outboard into pieces. Used by one thread at a time. Holds the segments whose parents
// have not arrived and one open page a level.
class PieceBuilder {
 public:
  using Sink = absl::FunctionRef<absl::Status(const PieceId&, absl::string_view)>;

  // The next bytes of the blob.
  void AddBytes(absl::string_view bytes);

  // The next parent in post-order, as ParentSink (hashing/tree_hasher.h) delivers it.
  void AddParent(int height, const ParentNode& node);

  // Hands every piece that is complete to `sink`, in order. Returns the sink's first error.
  absl::Status TakeComplete(Sink sink) { return Take(false, sink); }

  // The same for all that is left, after the last byte and the last parent.
  absl::Status TakeRest(Sink sink) { return Take(true, sink); }

 private:
  struct Pages {
    std::string open;
    std::deque<std::string> closed;
  };

  absl::Status Take(bool at_end, Sink sink);
  bool SegmentIsComplete() const;

  // The front one is segment number next_segment_.
  std::deque<std::string> segments_;
  uint64_t next_segment_ = 0;
  // Indexed by level.
  std::array<Pages, kMaxLevel + 1> pages_;
  // A segment buffer kept for reuse: fresh memory is slow.
  std::string spare_;
};

}  // namespace coffer
