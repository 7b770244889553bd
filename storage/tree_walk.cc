// SPDX-License-Identifier: Apache-2.0
//
// Row(r), step by step:
//   1. a blob of at most one chunk group has no parents: its bytes are hashed and compared with the digest;
//   2. otherwise the pages above the row are proven from the top down, each against its unit in the page above;
//      pages that were proven by the call before are kept;
//   3. the chunk groups asked for are hashed and compared with the units of its level-1 page.
#include "storage/tree_walk.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "hashing/bytes.h"

namespace coffer {
namespace {

// Copies the chaining value of every unit out of a page whose nodes fit together. `nodes` are the parents over
// `units.size()` units in post-order, `values` their own chaining values. False if a child's value is not what
// its parent says; the root of the page is compared by the caller.
bool CollectUnits(absl::Span<const ParentNode> nodes, absl::Span<const ChainingValue> values,
                  absl::Span<ChainingValue> units) {
  if (units.size() == 1) return true;
  size_t left_units = 1;
  while (left_units * 2 < units.size()) left_units *= 2;
  const ParentNode& root = nodes.back();
  const size_t left_nodes = left_units - 1;
  const size_t right_nodes = nodes.size() - 1 - left_nodes;
  if (left_nodes == 0) {
    units.front() = root.left;
  } else if (!(values[left_nodes - 1] == root.left)) {
    return false;
  }
  if (right_nodes == 0) {
    units.back() = root.right;
  } else if (!(values[nodes.size() - 2] == root.right)) {
    return false;
  }
  return CollectUnits(nodes.subspan(0, left_nodes), values.subspan(0, left_nodes), units.subspan(0, left_units)) &&
         CollectUnits(nodes.subspan(left_nodes, right_nodes), values.subspan(left_nodes, right_nodes),
                      units.subspan(left_units));
}

}  // namespace

TreeWalk::TreeWalk(const Digest& digest, Content& content)
    : digest_(digest), content_(content), top_level_(TopLevel(content.size_bytes())) {}

absl::Status TreeWalk::Damaged(const ByteRange& range, absl::string_view problem) {
  damage_ = range;
  return absl::DataLossError(absl::StrCat("blob ", digest_.ToHex(), ": bytes [", range.offset_bytes, ", ",
                                          range.offset_bytes + range.length_bytes, ") are damaged: ", problem));
}

absl::StatusOr<absl::string_view> TreeWalk::ReadPiece(const PieceId& id, size_t expected_bytes,
                                                      const ByteRange& covers) {
  absl::StatusOr<absl::string_view> bytes = content_.Read(id);
  if (absl::IsDataLoss(bytes.status())) return Damaged(covers, bytes.status().message());
  if (bytes.ok() && bytes->size() != expected_bytes) {
    return Damaged(covers, absl::StrCat("the stored piece has ", bytes->size(), " bytes instead of ", expected_bytes));
  }
  return bytes;
}

absl::StatusOr<absl::string_view> TreeWalk::Row(uint64_t row, size_t begin_group, size_t end_group) {
  const uint64_t size_bytes = content_.size_bytes();
  if (size_bytes <= kGroupBytes) return OnlyGroup();
  for (int level = top_level_; level >= 1; --level) {
    const uint64_t segment = row / kRowsPerSegment;
    if (absl::Status status = ProvePage(level, segment / SegmentsPerPage(level)); !status.ok()) return status;
  }
  const uint64_t begin = row * kRowBytes;
  const ByteRange covers = {begin, std::min<uint64_t>(kRowBytes, size_bytes - begin)};
  absl::StatusOr<absl::string_view> bytes = ReadPiece(RowId(row), covers.length_bytes, covers);
  if (!bytes.ok()) return bytes;
  if (absl::Status status = CheckGroups(row, *bytes, begin_group, end_group); !status.ok()) return status;
  return bytes;
}

absl::StatusOr<absl::string_view> TreeWalk::OnlyGroup() {
  const ByteRange covers = {0, content_.size_bytes()};
  absl::StatusOr<absl::string_view> bytes = absl::string_view();
  if (covers.length_bytes > 0) bytes = ReadPiece(RowId(0), covers.length_bytes, covers);
  if (!bytes.ok()) return bytes;
  if (!(HashBlob(BytesOf(*bytes)) == digest_)) return Damaged(covers, "they do not hash to the digest");
  return bytes;
}

const ChainingValue& TreeWalk::UnitAbove(int level, uint64_t index) const {
  return pages_[level + 1].units[index % kPagesPerPage];
}

absl::Status TreeWalk::ProvePage(int level, uint64_t index) {
  Page& page = pages_[level];
  if (page.proven && page.index == index) return absl::OkStatus();
  page.proven = false;
  const bool is_top = level == top_level_;
  const uint64_t size_bytes = content_.size_bytes();
  const size_t unit_count = PageUnits(level, index, size_bytes);
  page.units.resize(unit_count);
  if (unit_count == 1) {
    // Below the top: a top page of one unit would be a blob of one chunk group.
    page.units[0] = UnitAbove(level, index);
  } else {
    const uint64_t page_bytes = SegmentsPerPage(level) * kSegmentBytes;
    const uint64_t begin = index * page_bytes;
    const ByteRange covers = {begin, std::min(page_bytes, size_bytes - begin)};
    const size_t node_count = unit_count - 1;
    absl::StatusOr<absl::string_view> bytes =
        ReadPiece(PageId(level, index, size_bytes), node_count * kParentBytes, covers);
    if (!bytes.ok()) return bytes.status();
    std::vector<ParentNode> nodes(node_count);
    std::memcpy(static_cast<void*>(nodes.data()), bytes->data(), bytes->size());
    std::vector<ChainingValue> values(node_count);
    ParentChainingValues(nodes, absl::MakeSpan(values));
    bool fits = CollectUnits(nodes, values, absl::MakeSpan(page.units));
    if (is_top) {
      fits = fits && RootDigest(nodes.back()) == digest_;
    } else {
      fits = fits && values.back() == UnitAbove(level, index);
    }
    if (!fits) return Damaged(covers, "the stored tree over them does not lead to the digest");
  }
  page.index = index;
  page.proven = true;
  return absl::OkStatus();
}

absl::Status TreeWalk::CheckGroups(uint64_t row, absl::string_view bytes, size_t begin_group, size_t end_group) {
  const size_t groups = (bytes.size() + kGroupBytes - 1) / kGroupBytes;
  end_group = std::min(end_group, groups);
  if (begin_group >= end_group) return absl::OkStatus();
  const uint64_t first_group = row * kGroupsPerRow;
  std::array<ChainingValue, kGroupsPerRow> found;
  const absl::string_view checked = bytes.substr(begin_group * kGroupBytes, (end_group - begin_group) * kGroupBytes);
  GroupChainingValues(BytesOf(checked), GroupIndex{first_group + begin_group},
                      absl::MakeSpan(found).subspan(begin_group, end_group - begin_group));
  const std::vector<ChainingValue>& expected = pages_[1].units;
  for (size_t i = begin_group; i < end_group; ++i) {
    if (found[i] == expected[(first_group + i) % kGroupsPerSegment]) continue;
    const uint64_t begin = i * kGroupBytes;
    return Damaged({row * kRowBytes + begin, std::min<uint64_t>(kGroupBytes, bytes.size() - begin)},
                   "they do not fit the stored tree");
  }
  return absl::OkStatus();
}

}  // namespace coffer
