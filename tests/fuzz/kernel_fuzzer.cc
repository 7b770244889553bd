// SPDX-License-Identifier: Apache-2.0
// Every kernel against the slow reference: the input chooses mode, key, splits, lengths and output place; all
// ways to hash the same bytes must agree.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "hashing/batch_hasher.h"
#include "hashing/hasher.h"
#include "hashing/kernel.h"
#include "hashing/subtree.h"
#include "hashing/tree_hasher.h"
#include "tests/reference/reference_tree.h"

namespace coffer {
namespace {

// Takes choices from the front of the input.
class Choices {
 public:
  explicit Choices(ByteSpan input) : left_(input) {}
  uint64_t Next(size_t bytes) {
    uint64_t value = 0;
    const size_t take = std::min(bytes, left_.size());
    if (take > 0) std::memcpy(&value, left_.data(), take);
    left_.remove_prefix(take);
    return value;
  }
  ByteSpan rest() const { return left_; }

 private:
  ByteSpan left_;
};

void Require(bool holds) {
  if (!holds) std::abort();
}

// The content: the rest of the input repeated to a chosen length, so that small inputs reach many chunks.
std::vector<uint8_t> Content(Choices& choices) {
  const size_t size_bytes = choices.Next(3) % (1 << (choices.Next(1) % 18));
  const ByteSpan rest = choices.rest();
  std::vector<uint8_t> content(size_bytes);
  for (size_t i = 0; i < size_bytes; ++i)
    content[i] = rest.empty() ? uint8_t(i) : uint8_t(rest[i % rest.size()] + i / 251);
  return content;
}

void CheckHasher(Choices choices, const std::vector<uint8_t>& content) {
  const uint64_t mode = choices.Next(1) % 3;
  std::array<uint8_t, 32> key{};
  for (uint8_t& byte : key) byte = uint8_t(choices.Next(1));
  const std::string context(choices.Next(2) % 3000, 'c');
  const size_t length = choices.Next(1);
  const uint64_t offset = choices.Next(1) % 2 == 0 ? choices.Next(1) : choices.Next(8);
  const reference::Bytes expected = mode == 0   ? reference::Hash(content, length, offset)
                                    : mode == 1 ? reference::KeyedHash(key, content, length, offset)
                                                : reference::DeriveKey(context, content, length, offset);
  for (const Kernel* kernel : AllKernels()) {
    if (!kernel->supported()) continue;
    SetActiveKernel(*kernel);
    Hasher hasher = mode == 0 ? Hasher() : mode == 1 ? Hasher::Keyed(key) : Hasher::DeriveKey(context);
    Choices splits = choices;
    for (size_t at = 0; at < content.size();) {
      const size_t take = std::min<size_t>(content.size() - at, 1 + splits.Next(2));
      hasher.Update(ByteSpan(content).subspan(at, take));
      at += take;
    }
    XofReader reader = hasher.FinalizeXof();
    reader.Seek(offset);
    reference::Bytes out(length);
    reader.Read(absl::MakeSpan(out));
    Require(out == expected);
  }
}

void CheckTreesAndBatches(Choices choices, const std::vector<uint8_t>& content) {
  const reference::Bytes expected = reference::Hash(content);
  const auto is_expected = [&](const Digest& digest) {
    return std::equal(expected.begin(), expected.end(), digest.data());
  };
  for (const Kernel* kernel : AllKernels()) {
    if (!kernel->supported()) continue;
    SetActiveKernel(*kernel);
    Require(is_expected(HashBlob(content)));
    TreeHasher tree(nullptr, nullptr);
    std::vector<ByteSpan> blobs = {content};
    Choices splits = choices;
    for (size_t at = 0; at < content.size();) {
      const size_t take = std::min<size_t>(content.size() - at, 1 + splits.Next(2));
      const ByteSpan part = ByteSpan(content).subspan(at, take);
      tree.Append(part);
      blobs.push_back(part);
      at += take;
    }
    Require(is_expected(tree.Finish()));
    std::vector<Digest> digests(blobs.size());
    HashBatch(blobs, absl::MakeSpan(digests));
    Require(is_expected(digests[0]));
    for (size_t i = 0; i < blobs.size(); ++i) Require(digests[i] == HashBlob(blobs[i]));
  }
}

}  // namespace
}  // namespace coffer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  coffer::Choices choices(coffer::ByteSpan(data, size));
  const std::vector<uint8_t> content = coffer::Content(choices);
  coffer::CheckHasher(choices, content);
  coffer::CheckTreesAndBatches(choices, content);
  return 0;
}
