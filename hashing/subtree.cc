// SPDX-License-Identifier: Apache-2.0
// From bytes to chaining values: a run of chunks goes through the kernel's widest passes, then its parents
// level by level, so that a pass holds as many nodes as there are. Longer subtrees are runs joined on a
// stack.
#include "hashing/subtree.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "hashing/invariant.h"
#include "hashing/kernel.h"
#include "hashing/keyed_subtree.h"
#include "hashing/subtree_stack.h"
#include "hashing/tree_math.h"

namespace coffer {
namespace {

constexpr size_t kBlockBytes = 64;
constexpr size_t kRunChunks = kRunGroups * kGroupChunks;

uint8_t* BytesOfValues(ChainingValue* values) { return values->mutable_data(); }

// Room for a run's chaining values, not cleared: clearing 8 KiB costs more than hashing a small blob.
struct RunValues {
  RunValues() {}  // NOLINT(modernize-use-equals-default): at stays unwritten
  union {
    ChainingValue at[kRunChunks];
  };
};

// Chaining values of the chunks of `bytes` (1 to kRunBytes); returns how many.
size_t HashRunChunks(TreeMode mode, ByteSpan bytes, ChunkIndex first_chunk, ChainingValue* out) {
  ActiveKernel().hash_chunks(bytes.data(), bytes.size(), mode.key, first_chunk.value(), mode.flags, BytesOfValues(out));
  return ChunkCount(bytes.size());
}

LastCompression LastOfChunk(TreeMode mode, ByteSpan bytes, ChunkIndex chunk) {
  LastCompression last;
  std::memcpy(last.chain, mode.key, sizeof(last.chain));
  const size_t whole_blocks = bytes.empty() ? 0 : (bytes.size() - 1) / kBlockBytes;
  ActiveKernel().absorb(last.chain, bytes.data(), whole_blocks, kBlockBytes, chunk.value(), mode.flags,
                        kFlagChunkStart);
  const ByteSpan rest = bytes.subspan(whole_blocks * kBlockBytes);
  std::memset(last.block, 0, sizeof(last.block));
  if (!rest.empty()) std::memcpy(last.block, rest.data(), rest.size());
  last.block_bytes = static_cast<uint32_t>(rest.size());
  last.counter = chunk.value();
  last.flags = mode.flags | kFlagChunkEnd | (whole_blocks == 0 ? kFlagChunkStart : 0);
  return last;
}

// The top parent of a run of 2 to kRunChunks chunks.
ParentNode TopOfRun(TreeMode mode, ByteSpan bytes, ChunkIndex first_chunk) {
  RunValues values;
  const size_t count = HashRunChunks(mode, bytes, first_chunk, values.at);
  JoinValues(mode, values.at, count, 2);
  return {values.at[0], values.at[1]};
}

// Runs whose groups are joined together: the wider the passes over parents, the fewer there are.
constexpr size_t kSpanRuns = 4;
constexpr size_t kSpanBytes = kSpanRuns * kRunBytes;

// The values of the groups of at most kSpanBytes, joined until `target` are left in `values`.
void HashSpan(TreeMode mode, ByteSpan bytes, ChunkIndex first_chunk, size_t target,
              ChainingValue (&values)[kSpanRuns * kRunGroups]) {
  GroupIndex group(first_chunk.value() / kGroupChunks);
  size_t count = 0;
  while (!bytes.empty()) {
    const ByteSpan run = bytes.subspan(0, kRunBytes);
    GroupValuesOfRun(mode, run, group, values + count);
    count += GroupCount(run.size());
    group = GroupIndex(group.value() + kRunGroups);
    bytes.remove_prefix(run.size());
  }
  JoinValues(mode, values, count, target);
}

// The top parent of a subtree of more than one run.
ParentNode TopOfRuns(TreeMode mode, ByteSpan bytes, ChunkIndex first_chunk) {
  ChainingValue values[kSpanRuns * kRunGroups];
  if (bytes.size() <= kSpanBytes) {
    HashSpan(mode, bytes, first_chunk, 2, values);
    return {values[0], values[1]};
  }
  SubtreeStack stack;
  const auto join = [mode](int, const ParentNode& node) { return ValueOfParent(mode, node); };
  while (!bytes.empty()) {
    const ByteSpan span = bytes.subspan(0, kSpanBytes);
    HashSpan(mode, span, first_chunk, 1, values);
    stack.Push(values[0], 1, join);
    first_chunk = ChunkIndex(first_chunk.value() + kSpanBytes / kChunkBytes);
    bytes.remove_prefix(span.size());
  }
  return stack.FinishRoot(join);
}

}  // namespace

size_t JoinValues(TreeMode mode, ChainingValue* values, size_t count, size_t target) {
  const Kernel& kernel = ActiveKernel();
  while (count > target) {
    const size_t pairs = count / 2;
    kernel.hash_parents(values->data(), pairs, mode.key, mode.flags | kFlagParent, BytesOfValues(values));
    if (count % 2 == 1) values[pairs] = values[count - 1];
    count -= pairs;
  }
  return count;
}

LastCompression LastOfParent(TreeMode mode, const ParentNode& node) {
  LastCompression last;
  std::memcpy(last.chain, mode.key, sizeof(last.chain));
  std::memcpy(last.block, &node, sizeof(last.block));
  last.block_bytes = kBlockBytes;
  last.counter = 0;
  last.flags = mode.flags | kFlagParent;
  return last;
}

LastCompression LastOfSubtree(TreeMode mode, ByteSpan bytes, ChunkIndex first_chunk) {
  if (bytes.size() <= kChunkBytes) return LastOfChunk(mode, bytes, first_chunk);
  return LastOfParent(
      mode, bytes.size() <= kRunBytes ? TopOfRun(mode, bytes, first_chunk) : TopOfRuns(mode, bytes, first_chunk));
}

Digest RootOf(const LastCompression& last) {
  Digest digest;
  uint32_t chain[8];
  std::memcpy(chain, last.chain, sizeof(chain));
  ActiveKernel().absorb(chain, last.block, 1, last.block_bytes, 0, last.flags | kFlagRoot, 0);
  std::memcpy(digest.mutable_data(), chain, Digest::kSizeBytes);
  return digest;
}

ChainingValue ValueOfParent(TreeMode mode, const ParentNode& node) {
  ChainingValue value;
  uint32_t chain[8];
  std::memcpy(chain, mode.key, sizeof(chain));
  ActiveKernel().absorb(chain, node.left.data(), 1, kBlockBytes, 0, mode.flags | kFlagParent, 0);
  std::memcpy(value.mutable_data(), chain, sizeof(chain));
  return value;
}

ChainingValue ValueOfSubtree(TreeMode mode, ByteSpan bytes, ChunkIndex first_chunk) {
  RequireInvariant(!bytes.empty(), "a subtree that is not the root is not empty");
  if (bytes.size() <= kRunBytes) {
    RunValues values;
    const size_t count = HashRunChunks(mode, bytes, first_chunk, values.at);
    JoinValues(mode, values.at, count, 1);
    return values.at[0];
  }
  return ValueOfParent(mode, TopOfRuns(mode, bytes, first_chunk));
}

void GroupValuesOfRun(TreeMode mode, ByteSpan bytes, GroupIndex first_group, ChainingValue* out) {
  RequireInvariant(!bytes.empty() && bytes.size() <= kRunBytes, "a run has 1 to kRunBytes bytes");
  RunValues room;
  ChainingValue* const values = room.at;
  const size_t count = HashRunChunks(mode, bytes, first_group.first_chunk(), values);
  const Kernel& kernel = ActiveKernel();
  const size_t whole_groups = count / kGroupChunks;
  for (size_t level_count = whole_groups * kGroupChunks; level_count > whole_groups; level_count /= 2) {
    kernel.hash_parents(values->data(), level_count / 2, mode.key, mode.flags | kFlagParent, BytesOfValues(values));
  }
  std::copy(values, values + whole_groups, out);
  const size_t rest = count % kGroupChunks;
  if (rest > 0) {
    ChainingValue* const tail = values + whole_groups * kGroupChunks;
    JoinValues(mode, tail, rest, 1);
    out[whole_groups] = *tail;
  }
}

void HashRun(TreeMode mode, ByteSpan bytes, GroupIndex first_group, RunTree* tree) {
  GroupValuesOfRun(mode, bytes, first_group, tree->groups);
  const Kernel& kernel = ActiveKernel();
  const auto join = [&](const ChainingValue* below, size_t parents, ChainingValue* out) {
    kernel.hash_parents(below->data(), parents, mode.key, mode.flags | kFlagParent, BytesOfValues(out));
  };
  const size_t groups = bytes.size() / kGroupBytes;
  join(tree->groups, groups / 2, tree->pairs);
  join(tree->pairs, groups / 4, tree->quads);
  if (groups == kRunGroups) join(tree->quads, 2, tree->halves);
}

ChainingValue SubtreeChainingValue(ByteSpan bytes, ChunkIndex first_chunk) {
  RequireInvariant(first_chunk.value() % std::bit_ceil(ChunkCount(bytes.size())) == 0,
                   "a subtree starts at a multiple of the chunks that it covers when complete");
  return ValueOfSubtree(TreeMode{}, bytes, first_chunk);
}

void GroupChainingValues(ByteSpan bytes, GroupIndex first_group, absl::Span<ChainingValue> out) {
  RequireInvariant(!bytes.empty() && out.size() == GroupCount(bytes.size()), "one output for each chunk group");
  for (size_t done = 0; done < out.size(); done += kRunGroups) {
    GroupValuesOfRun(TreeMode{}, bytes.subspan(done * kGroupBytes, kRunBytes), GroupIndex(first_group.value() + done),
                     &out[done]);
  }
}

ChainingValue ParentChainingValue(const ParentNode& node) { return ValueOfParent(TreeMode{}, node); }

void ParentChainingValues(absl::Span<const ParentNode> nodes, absl::Span<ChainingValue> out) {
  RequireInvariant(nodes.size() == out.size(), "one output for each parent");
  if (nodes.empty()) return;
  ActiveKernel().hash_parents(nodes.data()->left.data(), nodes.size(), kInitialWords, kFlagParent,
                              BytesOfValues(out.data()));
}

Digest RootDigest(const ParentNode& node) { return RootOf(LastOfParent(TreeMode{}, node)); }

Digest HashBlob(ByteSpan bytes) { return RootOf(LastOfSubtree(TreeMode{}, bytes, ChunkIndex(0))); }

}  // namespace coffer
