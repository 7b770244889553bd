// SPDX-License-Identifier: Apache-2.0
// The tree in any of BLAKE3's modes, for the classes of this folder only: what subtree.h does for plain
// hashing, with the key words and mode flags as an argument, and with the last compression of a subtree kept
// open until it is known whether it is the root.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hashing/bytes.h"
#include "hashing/chunk.h"
#include "hashing/digest.h"
#include "hashing/kernel.h"
#include "hashing/subtree.h"

namespace coffer {

// What every compression of a tree has in common: key words (borrowed) and mode flags (BLAKE3 paper 2.3).
struct TreeMode {
  const uint32_t* key = kInitialWords;
  uint8_t flags = 0;
};

// The inputs of a subtree's last compression: its chaining value, or its digest and endless output, depending
// on the root flag alone (BLAKE3 paper 2.6).
struct LastCompression {
  uint32_t chain[8];
  alignas(64) uint8_t block[64];
  uint32_t block_bytes;
  uint64_t counter;
  uint8_t flags;
};

// Bytes that are hashed before their parents are: wide passes need many nodes of one level, and 8 KiB of
// chaining values still fit on any stack.
inline constexpr size_t kRunGroups = 16;
inline constexpr size_t kRunBytes = kRunGroups * kGroupBytes;

LastCompression LastOfParent(TreeMode mode, const ParentNode& node);

// Of a subtree of any size, the empty blob included; contract of `bytes` and `first_chunk` as
// SubtreeChainingValue.
LastCompression LastOfSubtree(TreeMode mode, ByteSpan bytes, ChunkIndex first_chunk);

// Digest of a last compression that is the root's.
Digest RootOf(const LastCompression& last);

// As GroupChainingValues in `mode`, at most kRunBytes of bytes.
void GroupValuesOfRun(TreeMode mode, ByteSpan bytes, GroupIndex first_group, ChainingValue* out);

// The values of a run of 4, 8, 12 or 16 groups, the first a multiple of 4, at every height below 8 groups:
// two neighbours of one height are the node of their parent. Halves only of a run of kRunGroups.
struct RunTree {
  RunTree() {}  // NOLINT(modernize-use-equals-default): the values stay unwritten until the run is hashed
  union {
    struct {
      ChainingValue groups[kRunGroups];
      ChainingValue pairs[kRunGroups / 2];
      ChainingValue quads[kRunGroups / 4];
      ChainingValue halves[2];
    };
  };
};

// Fills `tree` from the bytes of a run of whole groups.
void HashRun(TreeMode mode, ByteSpan bytes, GroupIndex first_group, RunTree* tree);

// As ParentChainingValue in `mode`.
ChainingValue ValueOfParent(TreeMode mode, const ParentNode& node);

// As SubtreeChainingValue in `mode`.
ChainingValue ValueOfSubtree(TreeMode mode, ByteSpan bytes, ChunkIndex first_chunk);

// Joins values of neighbours level by level, in place, until at most `target` (1 or 2) are left; returns how
// many. The values are of equally high subtrees, the last one possibly incomplete.
size_t JoinValues(TreeMode mode, ChainingValue* values, size_t count, size_t target);

}  // namespace coffer
