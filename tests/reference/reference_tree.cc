// SPDX-License-Identifier: Apache-2.0
// One function per definition of the paper; section numbers are the paper's.
#include "tests/reference/reference_tree.h"

#include <algorithm>

namespace coffer::reference {
namespace {

using Words8 = std::array<uint32_t, 8>;
using Words16 = std::array<uint32_t, 16>;

constexpr Words8 kIv = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
enum Flags : uint32_t {
  kChunkStart = 1,
  kChunkEnd = 2,
  kParent = 4,
  kRoot = 8,
  kKeyed = 16,
  kContext = 32,
  kMaterial = 64
};

uint32_t RotateRight(uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

// 2.2, the quarter round.
void G(Words16& v, int a, int b, int c, int d, uint32_t x, uint32_t y) {
  v[a] = v[a] + v[b] + x;
  v[d] = RotateRight(v[d] ^ v[a], 16);
  v[c] = v[c] + v[d];
  v[b] = RotateRight(v[b] ^ v[c], 12);
  v[a] = v[a] + v[b] + y;
  v[d] = RotateRight(v[d] ^ v[a], 8);
  v[c] = v[c] + v[d];
  v[b] = RotateRight(v[b] ^ v[c], 7);
}

// 2.2, table 2.
Words16 Permuted(const Words16& m) {
  constexpr int kFrom[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
  Words16 out;
  for (int i = 0; i < 16; ++i) out[i] = m[kFrom[i]];
  return out;
}

// 2.2, the compression function.
Words16 Compress(const Words8& h, Words16 m, uint64_t t, uint32_t b, uint32_t d) {
  Words16 v = {h[0], h[1],   h[2],   h[3],   h[4],   h[5],        h[6],
               h[7], kIv[0], kIv[1], kIv[2], kIv[3], uint32_t(t), uint32_t(t >> 32),
               b,    d};
  for (int round = 0; round < 7; ++round) {
    if (round > 0) m = Permuted(m);
    for (int i = 0; i < 4; ++i) G(v, i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1]);
    for (int i = 0; i < 4; ++i) G(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i]);
  }
  for (int i = 0; i < 8; ++i) {
    v[i] ^= v[i + 8];
    v[i + 8] ^= h[i];
  }
  return v;
}

Words16 WordsOf(const uint8_t* bytes, size_t size) {
  Words16 words{};
  for (size_t i = 0; i < size; ++i) words[i / 4] |= uint32_t(bytes[i]) << (8 * (i % 4));
  return words;
}

Bytes BytesOf(const uint32_t* words, size_t count) {
  Bytes bytes;
  for (size_t i = 0; i < 4 * count; ++i) bytes.push_back(uint8_t(words[i / 4] >> (8 * (i % 4))));
  return bytes;
}

struct Mode {
  Words8 key;
  uint32_t flags;
};

// The last compression of a subtree, before it is known whether it is the root's.
struct Output {
  Words8 h;
  Words16 m;
  uint64_t t;
  uint32_t b;
  uint32_t d;

  Bytes ChainingValue() const { return BytesOf(Compress(h, m, t, b, d).data(), 8); }
  // 2.6, extendable output.
  Bytes Root(size_t length, uint64_t offset) const {
    Bytes bytes;
    for (uint64_t block = offset / 64; bytes.size() < offset % 64 + length; ++block) {
      const Bytes more = BytesOf(Compress(h, m, block, b, d | kRoot).data(), 16);
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    return Bytes(bytes.begin() + offset % 64, bytes.begin() + offset % 64 + length);
  }
};

// 2.4, chunk chaining values.
Output Chunk(const Mode& mode, const uint8_t* bytes, size_t size, uint64_t index) {
  Words8 h = mode.key;
  for (size_t at = 0;; at += 64) {
    const size_t take = std::min<size_t>(64, size - at);
    const uint32_t start = at == 0 ? uint32_t{kChunkStart} : 0;
    if (at + take == size) {
      return {h, WordsOf(bytes + at, take), index, uint32_t(take), mode.flags | start | kChunkEnd};
    }
    const Words16 out = Compress(h, WordsOf(bytes + at, take), index, 64, mode.flags | start);
    std::copy(out.begin(), out.begin() + 8, h.begin());
  }
}

// 2.1: the left subtree holds the largest power of two of chunks that leaves at least one byte for the right.
size_t LeftSize(size_t size) {
  size_t left = 1024;
  while (left * 2 < size) left *= 2;
  return left;
}

Output Subtree(const Mode& mode, const uint8_t* bytes, size_t size, uint64_t index) {
  if (size <= 1024) return Chunk(mode, bytes, size, index);
  const size_t left = LeftSize(size);
  Bytes node = Subtree(mode, bytes, left, index).ChainingValue();
  const Bytes right = Subtree(mode, bytes + left, size - left, index + left / 1024).ChainingValue();
  node.insert(node.end(), right.begin(), right.end());
  // 2.5, parent node chaining values.
  return {mode.key, WordsOf(node.data(), 64), 0, 64, mode.flags | kParent};
}

// Returns the chaining value; lists the parents above groups on the way.
Bytes List(const uint8_t* bytes, size_t size, uint64_t index, bool pre_order, std::vector<Parent>& parents) {
  const Mode mode{kIv, 0};
  if (size <= 16384) return Subtree(mode, bytes, size, index).ChainingValue();
  const size_t left = LeftSize(size);
  int height = 0;
  while ((size_t{16384} << height) < size) ++height;
  const size_t place = parents.size();
  if (pre_order) parents.push_back({height, {}});
  Bytes node = List(bytes, left, index, pre_order, parents);
  const Bytes right = List(bytes + left, size - left, index + left / 1024, pre_order, parents);
  node.insert(node.end(), right.begin(), right.end());
  if (pre_order) {
    parents[place].node = node;
  } else {
    parents.push_back({height, node});
  }
  return Output{kIv, WordsOf(node.data(), 64), 0, 64, kParent}.ChainingValue();
}

Words8 KeyWords(const Bytes& key) {
  const Words16 words = WordsOf(key.data(), 32);
  Words8 out;
  std::copy(words.begin(), words.begin() + 8, out.begin());
  return out;
}

}  // namespace

Bytes Hash(const Bytes& input, size_t length, uint64_t offset) {
  return Subtree({kIv, 0}, input.data(), input.size(), 0).Root(length, offset);
}

Bytes KeyedHash(const std::array<uint8_t, 32>& key, const Bytes& input, size_t length, uint64_t offset) {
  const Mode mode{KeyWords(Bytes(key.begin(), key.end())), kKeyed};
  return Subtree(mode, input.data(), input.size(), 0).Root(length, offset);
}

Bytes DeriveKey(const std::string& context, const Bytes& material, size_t length, uint64_t offset) {
  const Bytes text(context.begin(), context.end());
  const Bytes key = Subtree({kIv, kContext}, text.data(), text.size(), 0).Root(32, 0);
  return Subtree({KeyWords(key), kMaterial}, material.data(), material.size(), 0).Root(length, offset);
}

Bytes ChainingValue(const Bytes& input, uint64_t first_chunk) {
  return Subtree({kIv, 0}, input.data(), input.size(), first_chunk).ChainingValue();
}

std::vector<Parent> PostOrderParents(const Bytes& input) {
  std::vector<Parent> parents;
  List(input.data(), input.size(), 0, false, parents);
  return parents;
}

std::vector<Parent> PreOrderParents(const Bytes& input) {
  std::vector<Parent> parents;
  List(input.data(), input.size(), 0, true, parents);
  return parents;
}

}  // namespace coffer::reference
