// SPDX-License-Identifier: Apache-2.0
// Blobs are taken in waves. A wave's chunks, whoever they belong to, go through the kernel together, longest
// first, so that lanes stay full and end together; then the parents of all its blobs level by level, and the
// roots at last.
#include "hashing/batch_hasher.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "hashing/chunk.h"
#include "hashing/invariant.h"
#include "hashing/kernel.h"
#include "hashing/subtree.h"
#include "hashing/tree_math.h"

namespace coffer {
namespace {

constexpr size_t kBlockBytes = 64;
constexpr size_t kMaxBlocks = kChunkBytes / kBlockBytes;
// Chunks of a wave: eight of the widest passes, and their chaining values still fit into the first-level
// cache.
constexpr size_t kWaveChunks = 256;
// A blob with more chunks fills the lanes by itself and is hashed alone.
constexpr size_t kMaxBlobChunks = 64;

class Wave {
 public:
  Wave() {}  // NOLINT(modernize-use-equals-default): the arrays stay unwritten

  bool HasRoom(size_t chunks) const { return input_count_ + chunks <= kWaveChunks; }

  void Add(ByteSpan blob, Digest* digest) {
    if (blob.size() <= kChunkBytes) {
      AddChunk(blob, 0, kFlagRoot, digest->mutable_data());
      return;
    }
    const size_t first = input_count_;
    for (size_t at = 0; at < blob.size(); at += kChunkBytes) {
      AddChunk(blob.subspan(at, kChunkBytes), at / kChunkBytes, 0, values_[input_count_]);
    }
    trees_[tree_count_++] = {first, input_count_ - first, digest};
  }

  void Hash() {
    SortLongestFirst();
    ActiveKernel().hash_lanes(sorted_.data(), input_count_);
    while (tree_count_ > 0) JoinLevel();
    input_count_ = 0;
    chunks_of_blocks_.fill(0);
  }

 private:
  // The values of a blob's subtrees of one level: values_[first, first + count).
  struct Tree {
    size_t first;
    size_t count;
    Digest* digest;
  };

  void AddChunk(ByteSpan bytes, uint64_t counter, uint8_t root_flag, uint8_t* out) {
    inputs_[input_count_++] = {bytes.data(),
                               out,
                               kInitialWords,
                               counter,
                               static_cast<uint32_t>(bytes.size()),
                               0,
                               kFlagChunkStart,
                               static_cast<uint8_t>(kFlagChunkEnd | root_flag)};
    ++chunks_of_blocks_[BlocksOf(bytes.size())];
  }

  // 0 for up to one block, kMaxBlocks - 1 for a whole chunk.
  static size_t BlocksOf(size_t size_bytes) { return size_bytes == 0 ? 0 : (size_bytes - 1) / kBlockBytes; }

  void SortLongestFirst() {
    std::array<size_t, kMaxBlocks> place;
    size_t next = 0;
    for (size_t blocks = kMaxBlocks; blocks-- > 0;) {
      place[blocks] = next;
      next += chunks_of_blocks_[blocks];
    }
    for (size_t i = 0; i < input_count_; ++i) sorted_[place[BlocksOf(inputs_[i].size_bytes)]++] = inputs_[i];
  }

  // One level up in every tree; those with two values left come to their root.
  void JoinLevel() {
    const Kernel& kernel = ActiveKernel();
    size_t parents = 0;
    size_t roots = 0;
    for (size_t i = 0; i < tree_count_; ++i) {
      const Tree& tree = trees_[i];
      if (tree.count == 2) {
        std::memcpy(root_nodes_[roots++], values_[tree.first], kBlockBytes);
      } else {
        std::memcpy(nodes_[parents], values_[tree.first], tree.count / 2 * kBlockBytes);
        parents += tree.count / 2;
      }
    }
    kernel.hash_parents(nodes_[0], parents, kInitialWords, kFlagParent, nodes_[0]);
    kernel.hash_parents(root_nodes_[0], roots, kInitialWords, kFlagParent | kFlagRoot, root_nodes_[0]);
    const uint8_t* parent_value = nodes_[0];
    const uint8_t* root_value = root_nodes_[0];
    size_t left = 0;
    for (size_t i = 0; i < tree_count_; ++i) {
      Tree tree = trees_[i];
      if (tree.count == 2) {
        std::memcpy(tree.digest->mutable_data(), root_value, Digest::kSizeBytes);
        root_value += Digest::kSizeBytes;
        continue;
      }
      const size_t pairs = tree.count / 2;
      std::memcpy(values_[tree.first], parent_value, pairs * Digest::kSizeBytes);
      parent_value += pairs * Digest::kSizeBytes;
      if (tree.count % 2 == 1) {
        std::memcpy(values_[tree.first + pairs], values_[tree.first + tree.count - 1], Digest::kSizeBytes);
      }
      tree.count -= pairs;
      trees_[left++] = tree;
    }
    tree_count_ = left;
  }

  size_t input_count_ = 0;
  size_t tree_count_ = 0;
  std::array<size_t, kMaxBlocks> chunks_of_blocks_{};
  std::array<LaneInput, kWaveChunks> inputs_;
  std::array<LaneInput, kWaveChunks> sorted_;
  std::array<Tree, kWaveChunks / 2> trees_;
  alignas(64) uint8_t values_[kWaveChunks][Digest::kSizeBytes];
  alignas(64) uint8_t nodes_[kWaveChunks / 2][kBlockBytes];
  alignas(64) uint8_t root_nodes_[kWaveChunks / 2][kBlockBytes];
};

}  // namespace

void HashBatch(absl::Span<const ByteSpan> blobs, absl::Span<Digest> out) {
  RequireInvariant(blobs.size() == out.size(), "one digest for each blob of a batch");
  Wave wave;
  for (size_t i = 0; i < blobs.size(); ++i) {
    const uint64_t chunks = ChunkCount(blobs[i].size());
    if (chunks > kMaxBlobChunks) {
      out[i] = HashBlob(blobs[i]);
      continue;
    }
    if (!wave.HasRoom(chunks)) wave.Hash();
    wave.Add(blobs[i], &out[i]);
  }
  wave.Hash();
}

}  // namespace coffer
