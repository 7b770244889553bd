// SPDX-License-Identifier: Apache-2.0
// HashBatch against HashBlob, which other tests compare with the reference, under every kernel.
#include "hashing/batch_hasher.h"

#include <vector>

#include "gtest/gtest.h"
#include "hashing/subtree.h"
#include "tests/hashing/sample_blobs.h"

namespace coffer {
namespace {

class BatchUnderEveryKernel : public ::testing::TestWithParam<const Kernel*> {
 protected:
  // Fails if any digest differs from the blob's own.
  void ExpectRightDigests(const std::vector<std::vector<uint8_t>>& blobs) {
    std::vector<ByteSpan> spans(blobs.begin(), blobs.end());
    std::vector<Digest> digests(blobs.size());
    HashBatch(spans, absl::MakeSpan(digests));
    for (size_t i = 0; i < blobs.size(); ++i) {
      ASSERT_EQ(digests[i], HashBlob(blobs[i])) << "blob " << i << " of " << blobs.size() << ", " << blobs[i].size();
    }
  }

 private:
  ScopedKernel kernel_{*GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Kernels, BatchUnderEveryKernel, ::testing::ValuesIn(SupportedKernels()),
                         [](const auto& param_info) { return std::string(param_info.param->name); });

TEST_P(BatchUnderEveryKernel, TakesAnyNumberOfBlobs) {
  for (size_t count : {0, 1, 2, 3, 15, 16, 17, 31, 33, 64, 100, 300, 1000}) {
    std::vector<std::vector<uint8_t>> blobs;
    for (size_t i = 0; i < count; ++i) blobs.push_back(SampleBlob(100, i));
    ExpectRightDigests(blobs);
  }
}

TEST_P(BatchUnderEveryKernel, MixesEveryBoundarySize) {
  std::vector<std::vector<uint8_t>> blobs;
  for (size_t size : BoundarySizes(256 << 10)) blobs.push_back(SampleBlob(size, size));
  ExpectRightDigests(blobs);
  std::reverse(blobs.begin(), blobs.end());
  ExpectRightDigests(blobs);
}

TEST_P(BatchUnderEveryKernel, MixesRandomSizes) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::vector<uint8_t>> blobs;
    for (uint64_t i = random() % 200; i > 0; --i) {
      blobs.push_back(SampleBlob(random() % (size_t{1} << (random() % 18)), random()));
    }
    ExpectRightDigests(blobs);
  }
}

TEST_P(BatchUnderEveryKernel, TakesBlobsThatOverlap) {
  const std::vector<uint8_t> bytes = SampleBlob(70000);
  std::vector<ByteSpan> blobs;
  for (size_t i = 0; i < 150; ++i) {
    blobs.push_back(ByteSpan(bytes).subspan(i / 3, i * i * 3));
    blobs.push_back(blobs[i / 2]);
  }
  std::vector<Digest> digests(blobs.size());
  HashBatch(blobs, absl::MakeSpan(digests));
  for (size_t i = 0; i < blobs.size(); ++i) ASSERT_EQ(digests[i], HashBlob(blobs[i])) << i;
}

TEST(BatchHasherDeathTest, WantsOneDigestForEachBlob) {
  std::vector<ByteSpan> blobs(2);
  std::vector<Digest> digests(1);
  EXPECT_DEATH(HashBatch(blobs, absl::MakeSpan(digests)), "one digest for each blob of a batch");
}

}  // namespace
}  // namespace coffer
