// SPDX-License-Identifier: Apache-2.0
// The stream is cut into chunk groups. A whole group is hashed at once unless it is the first and nothing
// follows it yet: then it may be the root. Everything else that may be the root is a join, and the stack
// keeps that open.
#include "hashing/hasher.h"

#include <algorithm>
#include <cstring>

#include "hashing/kernel.h"

namespace coffer {

void XofReader::Seek(uint64_t offset_bytes) {
  block_ = offset_bytes / kBlockBytes;
  read_bytes_ = offset_bytes % kBlockBytes;
}

void XofReader::Read(absl::Span<uint8_t> out) {
  const Kernel& kernel = ActiveKernel();
  while (!out.empty()) {
    uint8_t block[kBlockBytes];
    kernel.compress(root_.chain, root_.block, root_.block_bytes, block_, root_.flags | kFlagRoot, block);
    const size_t take = std::min(out.size(), kBlockBytes - read_bytes_);
    std::memcpy(out.data(), block + read_bytes_, take);
    out.remove_prefix(take);
    read_bytes_ += take;
    if (read_bytes_ < kBlockBytes) break;
    ++block_;
    read_bytes_ = 0;
  }
}

Hasher::Hasher(const uint32_t* key_words, uint8_t flags) : flags_(flags) {
  std::copy(key_words, key_words + key_.size(), key_.begin());
}

Hasher::Hasher() : Hasher(kInitialWords, 0) {}

Hasher Hasher::Keyed(const std::array<uint8_t, kKeyBytes>& key) {
  uint32_t words[8];
  std::memcpy(words, key.data(), sizeof(words));
  return Hasher(words, kFlagKeyedHash);
}

Hasher Hasher::DeriveKey(absl::string_view context) {
  const TreeMode mode{kInitialWords, kFlagDeriveKeyContext};
  const Digest context_key = RootOf(LastOfSubtree(mode, BytesOf(context), ChunkIndex(0)));
  uint32_t words[8];
  std::memcpy(words, context_key.data(), sizeof(words));
  return Hasher(words, kFlagDeriveKeyMaterial);
}

Hasher& Hasher::operator=(const Hasher& other) {
  if (this == &other) return *this;
  key_ = other.key_;
  flags_ = other.flags_;
  stack_ = other.stack_;
  buffered_bytes_ = other.buffered_bytes_;
  std::memcpy(buffer_.data(), other.buffer_.data(), buffered_bytes_);
  return *this;
}

void Hasher::PushGroups(ByteSpan bytes) {
  const auto join = [this](int, const ParentNode& node) { return ValueOfParent(mode(), node); };
  while (!bytes.empty()) {
    const ByteSpan run = bytes.subspan(0, kRunBytes);
    ChainingValue values[kRunGroups];
    GroupValuesOfRun(mode(), run, GroupIndex(stack_.leaves()), values);
    for (size_t i = 0; i < run.size() / kGroupBytes; ++i) stack_.Push(values[i], 1, join);
    bytes.remove_prefix(run.size());
  }
}

void Hasher::Update(ByteSpan bytes) {
  if (bytes.empty()) return;
  if (buffered_bytes_ > 0) {
    const size_t take = std::min(bytes.size(), kGroupBytes - buffered_bytes_);
    std::memcpy(buffer_.data() + buffered_bytes_, bytes.data(), take);
    buffered_bytes_ += take;
    bytes.remove_prefix(take);
    if (buffered_bytes_ < kGroupBytes || (bytes.empty() && stack_.empty())) return;
    PushGroups(ByteSpan(buffer_.data(), kGroupBytes));
    buffered_bytes_ = 0;
  }
  if (bytes.size() > kGroupBytes || !stack_.empty()) {
    const size_t whole_bytes = bytes.size() / kGroupBytes * kGroupBytes;
    PushGroups(bytes.subspan(0, whole_bytes));
    bytes.remove_prefix(whole_bytes);
  }
  if (bytes.empty()) return;
  std::memcpy(buffer_.data(), bytes.data(), bytes.size());
  buffered_bytes_ = bytes.size();
}

LastCompression Hasher::Last() const {
  const ByteSpan rest(buffer_.data(), buffered_bytes_);
  const GroupIndex group(stack_.leaves());
  if (stack_.empty()) return LastOfSubtree(mode(), rest, group.first_chunk());
  const auto join = [this](int, const ParentNode& node) { return ValueOfParent(mode(), node); };
  SubtreeStack stack = stack_;
  if (!rest.empty()) stack.Push(ValueOfSubtree(mode(), rest, group.first_chunk()), 1, join);
  return LastOfParent(mode(), stack.FinishRoot(join));
}

Digest Hasher::Finalize() const { return RootOf(Last()); }
XofReader Hasher::FinalizeXof() const { return XofReader(Last()); }
uint64_t Hasher::size_bytes() const { return stack_.leaves() * kGroupBytes + buffered_bytes_; }

}  // namespace coffer
