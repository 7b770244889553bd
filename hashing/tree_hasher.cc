// SPDX-License-Identifier: Apache-2.0
// The stream is cut into chunk groups; a group is hashed when more data follows it, and parents are joined,
// and handed to the sink, when more data follows them.
#include "hashing/tree_hasher.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "hashing/chunk.h"
#include "hashing/invariant.h"
#include "hashing/keyed_subtree.h"
#include "hashing/subtree_stack.h"

namespace coffer {

class TreeHasher::Stream {
 public:
  explicit Stream(ParentSink sink) : sink_(std::move(sink)) { buffer_.reserve(kRunBytes); }

  void Append(ByteSpan bytes) {
    RequireInvariant(!finished_, "nothing is appended to a finished TreeHasher");
    size_bytes_ += bytes.size();
    while (!bytes.empty()) {
      if (buffer_.size() == kRunBytes) PushBuffer();
      if (buffer_.empty() && bytes.size() > kRunBytes) {
        PushRun(bytes.subspan(0, kRunBytes));
        bytes.remove_prefix(kRunBytes);
        continue;
      }
      const ByteSpan piece = bytes.subspan(0, kRunBytes - buffer_.size());
      buffer_.insert(buffer_.end(), piece.begin(), piece.end());
      bytes.remove_prefix(piece.size());
    }
  }

  Digest Finish() {
    RequireInvariant(!finished_, "a TreeHasher finishes once");
    finished_ = true;
    if (size_bytes_ <= kGroupBytes) return HashBlob(buffer_);
    PushBuffer();
    const ParentNode root =
        stack_.FinishRoot([this](int height, const ParentNode& node) { return Join(height, node); });
    if (sink_) sink_(HeightOfStack(), root);
    return RootDigest(root);
  }

  uint64_t size_bytes() const { return size_bytes_; }

 private:
  int HeightOfStack() const { return std::bit_width(stack_.leaves() - 1); }

  ChainingValue Join(int height, const ParentNode& node) {
    if (sink_) sink_(height, node);
    return ParentChainingValue(node);
  }

  void PushRun(ByteSpan run) {
    ChainingValue values[kRunGroups];
    GroupValuesOfRun(TreeMode{}, run, GroupIndex(stack_.leaves()), values);
    const size_t groups = (run.size() + kGroupBytes - 1) / kGroupBytes;
    for (size_t i = 0; i < groups; ++i) {
      stack_.Push(values[i], 1, [this](int height, const ParentNode& node) { return Join(height, node); });
    }
  }

  void PushBuffer() {
    PushRun(buffer_);
    buffer_.clear();
  }

  ParentSink sink_;
  SubtreeStack stack_;
  std::vector<uint8_t> buffer_;
  uint64_t size_bytes_ = 0;
  bool finished_ = false;
};

TreeHasher::TreeHasher(WorkerPool* /*pool*/, ParentSink sink)
    : stream_(std::make_unique<Stream>(std::move(sink))) {}
TreeHasher::~TreeHasher() = default;
void TreeHasher::Append(ByteSpan bytes) { stream_->Append(bytes); }
Digest TreeHasher::Finish() { return stream_->Finish(); }
uint64_t TreeHasher::size_bytes() const { return stream_->size_bytes(); }

}  // namespace coffer
