// SPDX-License-Identifier: Apache-2.0
// One walk gives the order, one verifier the proof; encoder and decoder only move bytes between them.
#include "hashing/slice.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hashing/invariant.h"

namespace coffer {
namespace {

// The end of a range, not beyond `size_bytes`.
uint64_t EndOf(ByteRange range, uint64_t size_bytes) {
  if (range.offset_bytes >= size_bytes) return size_bytes;
  return range.length_bytes < size_bytes - range.offset_bytes ? range.offset_bytes + range.length_bytes : size_bytes;
}

}  // namespace

SliceWalk::SliceWalk(uint64_t size_bytes, ByteRange range) : size_bytes_(size_bytes) {
  const uint64_t groups = GroupCount(size_bytes);
  const uint64_t end_bytes = EndOf(range, size_bytes);
  if (range.offset_bytes < end_bytes) {
    first_group_ = GroupIndex(range.offset_bytes / kGroupBytes);
    end_group_ = GroupIndex((end_bytes - 1) / kGroupBytes + 1);
  } else {
    first_group_ = GroupIndex(groups - 1);
    end_group_ = GroupIndex(groups);
  }
  waiting_[waiting_count_++] = {0, groups};
}

bool SliceWalk::Wants(const Subtree& subtree) const {
  return subtree.first < end_group_.value() && first_group_.value() < subtree.first + subtree.groups;
}

std::optional<SliceItem> SliceWalk::Next() {
  if (waiting_count_ == 0) return std::nullopt;
  const Subtree subtree = waiting_[--waiting_count_];
  SliceItem item;
  item.first = GroupIndex(subtree.first);
  item.height = HeightOf(subtree.groups);
  item.offset_bytes = item.first.offset_bytes();
  const uint64_t all_groups = GroupCount(size_bytes_);
  item.size_bytes =
      subtree.first + subtree.groups == all_groups ? size_bytes_ - item.offset_bytes : subtree.groups * kGroupBytes;
  item.is_root = subtree.groups == all_groups;
  if (!item.is_parent()) return item;
  const uint64_t left_groups = LeftLeaves(subtree.groups);
  const Subtree left{subtree.first, left_groups};
  const Subtree right{subtree.first + left_groups, subtree.groups - left_groups};
  item.left = Wants(left);
  item.right = Wants(right);
  if (item.right) waiting_[waiting_count_++] = right;
  if (item.left) waiting_[waiting_count_++] = left;
  return item;
}

uint64_t SliceBytes(uint64_t size_bytes, ByteRange range) {
  SliceWalk walk(size_bytes, range);
  const uint64_t first = walk.first_group().value();
  const uint64_t end = walk.end_group().value();
  // A parent is not in the slice if all its groups are before or all behind.
  const uint64_t groups = GroupCount(size_bytes);
  const uint64_t bytes = (end == groups ? size_bytes : end * kGroupBytes) - first * kGroupBytes;
  const auto parents_within = [](uint64_t begin, uint64_t finish, uint64_t total) {
    // Parents whose groups all lie in [begin, finish), by descending from the root along both borders.
    struct Span {
      uint64_t first;
      uint64_t groups;
    };
    std::array<Span, 2 * kMaxHeight + 4> waiting;
    size_t count = 0;
    uint64_t parents = 0;
    waiting[count++] = {0, total};
    while (count > 0) {
      const Span span = waiting[--count];
      if (span.first >= finish || span.first + span.groups <= begin || span.groups == 1) continue;
      if (begin <= span.first && span.first + span.groups <= finish) {
        parents += span.groups - 1;
        continue;
      }
      const uint64_t left = LeftLeaves(span.groups);
      waiting[count++] = {span.first, left};
      waiting[count++] = {span.first + left, span.groups - left};
    }
    return parents;
  };
  const uint64_t parents = groups - 1 - parents_within(0, first, groups) - parents_within(end, groups, groups);
  const uint64_t room_bytes = std::numeric_limits<uint64_t>::max() - bytes;
  return bytes + std::min(room_bytes, parents * kParentNodeBytes);
}

absl::Status SliceVerifier::Damage(const SliceItem& item) {
  failure_ = absl::DataLossError(absl::StrCat("blob ", digest_.ToHex(), ": damaged ",
                                              item.is_parent() ? "tree node over" : "content in", " bytes [",
                                              item.offset_bytes, ", ", item.offset_bytes + item.size_bytes, ")"));
  return failure_;
}

absl::Status SliceVerifier::CheckParent(const SliceItem& item, const ParentNode& node) {
  if (!failure_.ok()) return failure_;
  if (item.is_root) {
    if (RootDigest(node) != digest_) return Damage(item);
  } else {
    RequireInvariant(expected_count_ > 0, "items are verified in the order of their walk");
    if (ParentChainingValue(node) != expected_[--expected_count_]) return Damage(item);
  }
  if (item.right) expected_[expected_count_++] = node.right;
  if (item.left) expected_[expected_count_++] = node.left;
  return absl::OkStatus();
}

absl::Status SliceVerifier::CheckGroup(const SliceItem& item, ByteSpan bytes) {
  if (!failure_.ok()) return failure_;
  if (bytes.size() != item.size_bytes) return Damage(item);
  if (item.is_root) return HashBlob(bytes) == digest_ ? absl::OkStatus() : Damage(item);
  RequireInvariant(expected_count_ > 0, "items are verified in the order of their walk");
  const ChainingValue value = SubtreeChainingValue(bytes, item.first.first_chunk());
  return value == expected_[--expected_count_] ? absl::OkStatus() : Damage(item);
}

SliceEncoder::SliceEncoder(const Digest& digest, uint64_t size_bytes, ByteRange range)
    : walk_(size_bytes, range), verifier_(digest), item_(walk_.Next()) {}

absl::StatusOr<bool> SliceEncoder::Next(NodeSource nodes, GroupSource groups, std::string* out) {
  if (!item_.has_value()) return false;
  if (item_->is_parent()) {
    const absl::StatusOr<ParentNode> node = nodes(item_->first, item_->height);
    if (!node.ok()) return node.status();
    if (absl::Status status = verifier_.CheckParent(*item_, *node); !status.ok()) return status;
    out->append(reinterpret_cast<const char*>(&*node), sizeof(ParentNode));
  } else {
    const size_t before = out->size();
    out->resize(before + item_->size_bytes);
    const absl::Span<uint8_t> bytes(reinterpret_cast<uint8_t*>(&(*out)[before]), item_->size_bytes);
    absl::Status status = groups(item_->first, bytes);
    if (status.ok()) status = verifier_.CheckGroup(*item_, bytes);
    if (!status.ok()) {
      out->resize(before);
      return status;
    }
  }
  item_ = walk_.Next();
  return true;
}

SliceDecoder::SliceDecoder(const Digest& digest, uint64_t size_bytes, ByteRange range)
    : range_(range), walk_(size_bytes, range), verifier_(digest), item_(walk_.Next()) {}

absl::Status SliceDecoder::Fail(absl::Status failure) {
  failure_ = std::move(failure);
  return failure_;
}

absl::Status SliceDecoder::Feed(ByteSpan bytes, Release release) {
  while (failure_.ok() && !bytes.empty()) {
    if (!item_.has_value() || item_->encoded_bytes() == 0) {
      return Fail(absl::DataLossError(
          absl::StrCat("blob ", verifier_.digest().ToHex(), ": bytes follow the end of the slice")));
    }
    const size_t wanted = static_cast<size_t>(item_->encoded_bytes());
    if (gathered_bytes_ == 0 && bytes.size() >= wanted) {
      if (absl::Status status = TakeItem(bytes.first(wanted), release); !status.ok()) return Fail(status);
      bytes.remove_prefix(wanted);
      continue;
    }
    if (buffer_ == nullptr) buffer_.reset(new uint8_t[kGroupBytes]);
    const size_t take = std::min(wanted - gathered_bytes_, bytes.size());
    std::memcpy(buffer_.get() + gathered_bytes_, bytes.data(), take);
    gathered_bytes_ += take;
    bytes.remove_prefix(take);
    if (gathered_bytes_ < wanted) break;
    gathered_bytes_ = 0;
    if (absl::Status status = TakeItem(ByteSpan(buffer_.get(), wanted), release); !status.ok()) return Fail(status);
  }
  return failure_;
}

absl::Status SliceDecoder::TakeItem(ByteSpan bytes, Release release) {
  const SliceItem item = *item_;
  if (item.is_parent()) {
    ParentNode node;
    std::memcpy(&node, bytes.data(), sizeof(node));
    if (absl::Status status = verifier_.CheckParent(item, node); !status.ok()) return status;
  } else {
    if (absl::Status status = verifier_.CheckGroup(item, bytes); !status.ok()) return status;
    // Of a proven group, what the range covers.
    const uint64_t group_end = item.offset_bytes + item.size_bytes;
    const uint64_t begin = std::max(range_.offset_bytes, item.offset_bytes);
    const uint64_t end = EndOf(range_, group_end);
    if (begin < end) release(begin, bytes.subspan(begin - item.offset_bytes, end - begin));
  }
  item_ = walk_.Next();
  return absl::OkStatus();
}

absl::Status SliceDecoder::Finish() {
  if (!failure_.ok()) return failure_;
  if (item_.has_value() && item_->encoded_bytes() == 0) {
    // The only item without bytes: the one group of an empty blob.
    if (absl::Status status = verifier_.CheckGroup(*item_, {}); !status.ok()) return Fail(status);
    item_.reset();
  }
  if (!item_.has_value()) return absl::OkStatus();
  return Fail(
      absl::DataLossError(absl::StrCat("blob ", verifier_.digest().ToHex(), ": the slice ends within the ",
                                       item_->is_parent() ? "tree node over" : "content of", " bytes [",
                                       item_->offset_bytes, ", ", item_->offset_bytes + item_->size_bytes, ")")));
}

}  // namespace coffer
