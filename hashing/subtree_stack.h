// SPDX-License-Identifier: Apache-2.0
// Chaining values of complete subtrees that wait for their right sibling while a stream of unknown length is
// hashed. A finished pair is joined only when more data follows, because the last join of all is the root
// (BLAKE3 paper 5.1.2).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "hashing/digest.h"
#include "hashing/invariant.h"
#include "hashing/subtree.h"
#include "hashing/tree_math.h"

namespace coffer {

// A value type; one thread at a time. `leaves` are chunk groups or larger units, as its owner likes.
class SubtreeStack {
 public:
  SubtreeStack() {}  // NOLINT(modernize-use-equals-default): entries_ stay unwritten
  SubtreeStack(const SubtreeStack& other) { *this = other; }
  SubtreeStack& operator=(const SubtreeStack& other) {
    size_ = other.size_;
    leaves_ = other.leaves_;
    for (size_t i = 0; i < size_; ++i) entries_[i] = other.entries_[i];
    return *this;
  }

  // Adds the value of the next subtree, which covers `leaves` leaves: a power of two that divides the number
  // of leaves before it, unless it is the last. First joins what is complete: `join(height, node)` is called
  // for every such parent, in post-order, and returns its chaining value; height is ceil(log2(leaves under
  // it)).
  template <typename Join>
  void Push(const ChainingValue& value, uint64_t leaves, Join&& join) {
    JoinComplete(join);
    RequireInvariant(size_ < kMaxDepth, "a blob is at most 2^64 - 1 bytes");
    entries_[size_++] = {value, leaves};
    leaves_ += leaves;
  }

  // Joins what is complete, as Push does first: right when at least one more leaf is known to follow.
  template <typename Join>
  void JoinComplete(Join&& join) {
    while (size_ > static_cast<size_t>(std::popcount(leaves_))) JoinTop(join);
  }

  // Joins all but the last pair; there must be at least two values. Returns the root's node.
  template <typename Join>
  ParentNode FinishRoot(Join&& join) {
    RequireInvariant(size_ >= 2, "a root above subtrees has two children");
    while (size_ > 2) JoinTop(join);
    return {entries_[0].value, entries_[1].value};
  }

  bool empty() const { return size_ == 0; }
  uint64_t leaves() const { return leaves_; }

 private:
  struct Entry {
    ChainingValue value;
    uint64_t leaves;
  };
  // A value for each height, groups included, and one more for the pair that waits.
  static constexpr size_t kMaxDepth = kMaxHeight + 2;

  template <typename Join>
  void JoinTop(Join& join) {
    const uint64_t leaves = entries_[size_ - 2].leaves + entries_[size_ - 1].leaves;
    const ParentNode node{entries_[size_ - 2].value, entries_[size_ - 1].value};
    entries_[size_ - 2] = {join(std::bit_width(leaves - 1), node), leaves};
    --size_;
  }

  // Left without a value on purpose: only the first size_ entries are ever read, and clearing them would cost
  // more than hashing a small blob.
  union {
    std::array<Entry, kMaxDepth> entries_;
  };
  size_t size_ = 0;
  uint64_t leaves_ = 0;
};

}  // namespace coffer
