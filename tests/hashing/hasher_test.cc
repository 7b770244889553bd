// SPDX-License-Identifier: Apache-2.0
// Hasher, HashBlob and the subtree functions against the reference, under every kernel, and against Debian's
// b3sum.
#include "hashing/hasher.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "hashing/subtree.h"
#include "hashing/tree_math.h"
#include "tests/hashing/sample_blobs.h"
#include "tests/reference/reference_tree.h"

namespace coffer {
namespace {

using reference::Bytes;

Digest DigestOf(const Bytes& bytes) { return *Digest::FromBytes(ViewOf(bytes)); }

class HashingUnderEveryKernel : public ::testing::TestWithParam<const Kernel*> {
 private:
  ScopedKernel kernel_{*GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Kernels, HashingUnderEveryKernel, ::testing::ValuesIn(SupportedKernels()),
                         [](const auto& param_info) { return std::string(param_info.param->name); });

TEST_P(HashingUnderEveryKernel, EqualsTheReferenceAtEveryBoundary) {
  for (size_t size : BoundarySizes(1 << 20)) {
    const Bytes blob = SampleBlob(size);
    const Digest expected = DigestOf(reference::Hash(blob));
    ASSERT_EQ(HashBlob(blob), expected) << size;
    Hasher hasher;
    hasher.Update(blob);
    ASSERT_EQ(hasher.Finalize(), expected) << size;
    ASSERT_EQ(hasher.size_bytes(), size);
  }
}

TEST_P(HashingUnderEveryKernel, EqualsTheReferenceInAllModesAndSplits) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 150; ++round) {
    const Bytes blob = SampleBlob(random() % (1 << (4 + random() % 15)), random());
    std::array<uint8_t, 32> key;
    for (uint8_t& byte : key) byte = static_cast<uint8_t>(random());
    const std::string context = "context " + std::string(random() % 2000, 'c');
    const uint64_t mode = random() % 3;
    Hasher hasher = mode == 0 ? Hasher() : mode == 1 ? Hasher::Keyed(key) : Hasher::DeriveKey(context);
    for (size_t at = 0; at < blob.size();) {
      const size_t take = std::min<size_t>(blob.size() - at, random() % (size_t{1} << (random() % 18)));
      hasher.Update(ByteSpan(blob).subspan(at, take));
      at += take;
    }
    const size_t length = random() % 300;
    const uint64_t offset = random() % 5 == 0 ? random() : random() % 1000;
    const Bytes expected = mode == 0   ? reference::Hash(blob, length, offset)
                           : mode == 1 ? reference::KeyedHash(key, blob, length, offset)
                                       : reference::DeriveKey(context, blob, length, offset);
    Bytes out(length);
    XofReader reader = hasher.FinalizeXof();
    reader.Seek(offset);
    const size_t first = length == 0 ? 0 : random() % length;
    reader.Read(absl::MakeSpan(out).first(first));
    reader.Read(absl::MakeSpan(out).subspan(first));
    ASSERT_EQ(out, expected) << "round " << round << ", mode " << mode << ", " << blob.size() << " bytes";
    ASSERT_EQ(reader.offset_bytes(), offset + length);
  }
}

TEST_P(HashingUnderEveryKernel, OutputGoesOnOverItsLargestOffset) {
  const Bytes blob = SampleBlob(3000);
  Hasher hasher;
  hasher.Update(blob);
  for (uint64_t before : {1, 10, 64, 100}) {
    const uint64_t offset = uint64_t{0} - before;
    XofReader reader = hasher.FinalizeXof();
    reader.Seek(offset);
    Bytes out(200);
    // In two parts, the second one behind the largest offset.
    reader.Read(absl::MakeSpan(out).first(110));
    EXPECT_EQ(reader.offset_bytes(), offset + 110);
    reader.Read(absl::MakeSpan(out).subspan(110));
    EXPECT_EQ(out, reference::Hash(blob, 200, offset)) << before;
  }
}

TEST_P(HashingUnderEveryKernel, SubtreesJoinToTheRoot) {
  for (size_t size : BoundarySizes(1 << 20)) {
    if (size <= kChunkBytes) continue;
    const Bytes blob = SampleBlob(size);
    const size_t left = LeftLeaves(ChunkCount(size)) * kChunkBytes;
    const ParentNode root{SubtreeChainingValue(ByteSpan(blob).first(left), ChunkIndex(0)),
                          SubtreeChainingValue(ByteSpan(blob).subspan(left), ChunkIndex(left / kChunkBytes))};
    ASSERT_EQ(RootDigest(root), HashBlob(blob)) << size;
  }
}

TEST_P(HashingUnderEveryKernel, GroupChainingValuesEqualTheReference) {
  for (size_t groups : {1, 2, 5, 16, 17, 40}) {
    for (size_t cut : {0, 1, 1000, 1024, 5000, 16383}) {
      const Bytes blob = SampleBlob(groups * kGroupBytes - cut);
      for (uint64_t first : {0, 3, 1 << 30}) {
        std::vector<ChainingValue> values(groups);
        GroupChainingValues(blob, GroupIndex(first), absl::MakeSpan(values));
        for (size_t i = 0; i < groups; ++i) {
          const Bytes group(blob.begin() + i * kGroupBytes,
                            blob.begin() + std::min(blob.size(), (i + 1) * kGroupBytes));
          ASSERT_EQ(values[i].view(), ViewOf(reference::ChainingValue(group, (first + i) * 16)));
        }
      }
    }
  }
}

TEST_P(HashingUnderEveryKernel, ParentChainingValuesEqualOneByOne) {
  std::vector<ParentNode> nodes;
  for (uint64_t i = 0; i < 37; ++i) {
    const Bytes bytes = SampleBlob(64, i);
    nodes.push_back(
        {*ChainingValue::FromBytes(ViewOf(bytes).substr(0, 32)), *ChainingValue::FromBytes(ViewOf(bytes).substr(32))});
  }
  std::vector<ChainingValue> values(nodes.size());
  ParentChainingValues(nodes, absl::MakeSpan(values));
  for (size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(values[i], ParentChainingValue(nodes[i]));
}

TEST(Hasher, FinalizeLeavesTheStreamOpenAndCopiesFork) {
  const Bytes blob = SampleBlob(100000);
  Hasher hasher;
  for (size_t at = 0; at < blob.size(); at += 1000) {
    ASSERT_EQ(hasher.Finalize(), HashBlob(ByteSpan(blob).first(at)));
    Hasher fork = hasher;
    fork.Update(ByteSpan(blob).subspan(at));
    ASSERT_EQ(fork.Finalize(), HashBlob(blob));
    hasher.Update(ByteSpan(blob).subspan(at, 1000));
  }
}

TEST(Hasher, KnownDigests) {
  EXPECT_EQ(HashBlob({}).ToHex(), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  EXPECT_EQ(HashBlob(BytesOf("abc")).ToHex(), "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
}

TEST(SubtreeDeathTest, RefusesAnEmptySubtree) {
  EXPECT_DEATH(SubtreeChainingValue({}, ChunkIndex(0)), "a subtree that is not the root is not empty");
}

TEST(SubtreeDeathTest, RefusesAPlaceWhereNoSuchSubtreeIs) {
  const Bytes blob = SampleBlob(3 * kChunkBytes);
  SubtreeChainingValue(blob, ChunkIndex(4));
  EXPECT_DEATH(SubtreeChainingValue(blob, ChunkIndex(2)), "a subtree starts at a multiple of the chunks");
}

// Digest as Debian's b3sum prints it.
std::string B3sumOf(const Bytes& blob) {
  const std::string path = ::testing::TempDir() + "/b3sum_input";
  FILE* file = std::fopen(path.c_str(), "wb");
  if (!blob.empty()) {
    EXPECT_EQ(std::fwrite(blob.data(), 1, blob.size(), file), blob.size());
  }
  std::fclose(file);
  FILE* pipe = ::popen(("b3sum --no-names " + path).c_str(), "r");
  char hex[65] = {};
  EXPECT_EQ(std::fread(hex, 1, 64, pipe), 64u);
  ::pclose(pipe);
  std::remove(path.c_str());
  return hex;
}

TEST(Hasher, EqualsB3sum) {
  if (std::system("command -v b3sum >/dev/null") != 0) GTEST_SKIP() << "b3sum is not installed (apt install b3sum)";
  std::vector<size_t> sizes = {0, 1, 63, 64, 65, 1023, 1024, 1025};
  for (size_t size = 2048; size <= (8 << 20); size *= 2) sizes.insert(sizes.end(), {size - 1, size, size + 1});
  std::mt19937_64 random(5);
  for (int i = 0; i < 40; ++i) sizes.push_back(random() % (10 << 20));
  for (size_t size : sizes) {
    const Bytes blob = SampleBlob(size, size);
    const std::string expected = B3sumOf(blob);
    ASSERT_EQ(HashBlob(blob).ToHex(), expected) << size;
    Hasher hasher;
    for (size_t at = 0; at < size;) {
      const size_t take = std::min<size_t>(size - at, 1 + random() % 100000);
      hasher.Update(ByteSpan(blob).subspan(at, take));
      at += take;
    }
    ASSERT_EQ(hasher.Finalize().ToHex(), expected) << size;
  }
}

}  // namespace
}  // namespace coffer
