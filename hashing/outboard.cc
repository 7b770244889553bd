// SPDX-License-Identifier: Apache-2.0
// Nodes lie in post-order, as they are made; pre-order is a walk over the whole blob.
#include "hashing/outboard.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hashing/invariant.h"
#include "hashing/slice.h"
#include "hashing/tree_math.h"

namespace coffer {
namespace {

// Calls `visit(item)` for every parent in pre-order.
template <typename Visit>
void ForEachParent(uint64_t size_bytes, Visit visit) {
  SliceWalk walk(size_bytes, {0, size_bytes});
  while (const std::optional<SliceItem> item = walk.Next()) {
    if (item->is_parent()) visit(*item);
  }
}

}  // namespace

Outboard Outboard::Of(ByteSpan blob, Digest* digest) {
  Outboard outboard;
  outboard.size_bytes_ = blob.size();
  outboard.nodes_.reserve(ParentCount(blob.size()));
  TreeHasher hasher(nullptr, [&](int, const ParentNode& node) { outboard.nodes_.push_back(node); });
  hasher.Append(blob);
  *digest = hasher.Finish();
  return outboard;
}

absl::StatusOr<Outboard> Outboard::FromPostOrder(uint64_t size_bytes, std::vector<ParentNode> nodes) {
  if (nodes.size() != ParentCount(size_bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("an outboard of ", size_bytes, " bytes has ",
                                                   ParentCount(size_bytes), " nodes, got ", nodes.size()));
  }
  Outboard outboard;
  outboard.size_bytes_ = size_bytes;
  outboard.nodes_ = std::move(nodes);
  return outboard;
}

absl::StatusOr<Outboard> Outboard::FromPreOrderBytes(uint64_t size_bytes, ByteSpan bytes) {
  if (bytes.size() != OutboardBytes(size_bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("the outboard of ", size_bytes, " bytes has ",
                                                   OutboardBytes(size_bytes), " bytes, got ", bytes.size()));
  }
  Outboard outboard;
  outboard.size_bytes_ = size_bytes;
  outboard.nodes_.resize(ParentCount(size_bytes));
  const uint64_t groups = GroupCount(size_bytes);
  ForEachParent(size_bytes, [&](const SliceItem& item) {
    std::memcpy(&outboard.nodes_[PostOrderIndex(item.first, item.height, groups)], bytes.data(), sizeof(ParentNode));
    bytes.remove_prefix(sizeof(ParentNode));
  });
  return outboard;
}

std::vector<uint8_t> Outboard::ToPreOrderBytes() const {
  std::vector<uint8_t> bytes;
  bytes.reserve(nodes_.size() * sizeof(ParentNode));
  ForEachParent(size_bytes_, [&](const SliceItem& item) {
    const auto* const node = reinterpret_cast<const uint8_t*>(&Node(item.first, item.height));
    bytes.insert(bytes.end(), node, node + sizeof(ParentNode));
  });
  return bytes;
}

const ParentNode& Outboard::Node(GroupIndex first, int height) const {
  const uint64_t groups = GroupCount(size_bytes_);
  RequireInvariant(height > 0 && height <= kMaxHeight && first.value() < groups &&
                       first.value() % (uint64_t{1} << height) == 0 &&
                       HeightOf(GroupsUnder(first, height, groups)) == height,
                   "a node is asked for at a place of its tree");
  return nodes_[PostOrderIndex(first, height, groups)];
}

absl::Status Outboard::Verify(const Digest& digest) const {
  absl::Status status;
  // Groups cannot be checked here, so each parent is checked as the way down to it.
  std::vector<std::pair<GroupIndex, ChainingValue>> expected;
  ForEachParent(size_bytes_, [&](SliceItem item) {
    if (!status.ok()) return;
    const ParentNode& node = Node(item.first, item.height);
    bool right = RootDigest(node) == digest;
    if (!item.is_root) {
      // Values of groups stay on the way; those before this parent are done with.
      while (expected.back().first != item.first) expected.pop_back();
      right = ParentChainingValue(node) == expected.back().second;
      expected.pop_back();
    }
    if (!right) {
      status = absl::DataLossError(absl::StrCat("blob ", digest.ToHex(), ": damaged tree node over bytes [",
                                                item.offset_bytes, ", ", item.offset_bytes + item.size_bytes, ")"));
      return;
    }
    const uint64_t left_groups = LeftLeaves(GroupsUnder(item.first, item.height, GroupCount(size_bytes_)));
    expected.emplace_back(GroupIndex(item.first.value() + left_groups), node.right);
    expected.emplace_back(item.first, node.left);
  });
  return status;
}

}  // namespace coffer
