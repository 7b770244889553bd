// SPDX-License-Identifier: Apache-2.0
// One suite over every kernel that this machine runs: each function against the reference, and lanes of
// different lengths, flags and counters in one pass.
#include "hashing/kernel.h"

#include <cstdlib>
#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hashing/sample_blobs.h"
#include "tests/reference/reference_tree.h"

namespace coffer {
namespace {

// The same bytes, from the second one of the vector on.
std::vector<uint8_t> Shifted(std::vector<uint8_t> bytes) {
  bytes.insert(bytes.begin(), 0);
  return bytes;
}

class EveryKernel : public ::testing::TestWithParam<const Kernel*> {
 protected:
  const Kernel& kernel() const { return *GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Kernels, EveryKernel, ::testing::ValuesIn(SupportedKernels()),
                         [](const auto& param_info) { return std::string(param_info.param->name); });

TEST_P(EveryKernel, HashesRunsOfChunks) {
  for (size_t size : BoundarySizes(80 * 1024)) {
    if (size == 0) continue;
    const std::vector<uint8_t> bytes = SampleBlob(size);
    // Neither the bytes nor the chaining values lie where vectors are aligned.
    const std::vector<uint8_t> odd = Shifted(bytes);
    for (uint64_t counter : {uint64_t{0}, uint64_t{0xFFFFFFF8}, uint64_t{1} << 40}) {
      const size_t count = (size + 1023) / 1024;
      std::vector<uint8_t> out(1 + count * 32 + 32, 0xEE);
      kernel().hash_chunks(odd.data() + 1, size, kInitialWords, counter, 0, out.data() + 1);
      out.erase(out.begin());
      for (size_t i = 0; i < count; ++i) {
        const std::vector<uint8_t> chunk(bytes.begin() + i * 1024, bytes.begin() + std::min(size, (i + 1) * 1024));
        ASSERT_EQ(std::vector<uint8_t>(out.begin() + i * 32, out.begin() + i * 32 + 32),
                  reference::ChainingValue(chunk, counter + i))
            << size << " bytes, chunk " << i << ", counter " << counter;
      }
      ASSERT_EQ(std::vector<uint8_t>(out.end() - 32, out.end()), std::vector<uint8_t>(32, 0xEE));
    }
  }
}

TEST_P(EveryKernel, HashesParentsAlsoInPlace) {
  for (size_t count = 1; count <= 70; ++count) {
    // Two chunks make each node, so that the reference's subtree is its parent.
    std::vector<uint8_t> nodes;
    std::vector<uint8_t> expected;
    for (size_t i = 0; i < count; ++i) {
      const std::vector<uint8_t> pair = SampleBlob(2048, i);
      for (size_t side : {0, 1}) {
        const std::vector<uint8_t> chunk(pair.begin() + side * 1024, pair.begin() + side * 1024 + 1024);
        const std::vector<uint8_t> value = reference::ChainingValue(chunk, side);
        nodes.insert(nodes.end(), value.begin(), value.end());
      }
      const std::vector<uint8_t> parent = reference::ChainingValue(pair, 0);
      expected.insert(expected.end(), parent.begin(), parent.end());
    }
    std::vector<uint8_t> odd = Shifted(nodes);
    std::vector<uint8_t> out(1 + count * 32);
    kernel().hash_parents(odd.data() + 1, count, kInitialWords, kFlagParent, out.data() + 1);
    out.erase(out.begin());
    ASSERT_EQ(out, expected) << count;
    kernel().hash_parents(odd.data() + 1, count, kInitialWords, kFlagParent, odd.data() + 1);
    odd.erase(odd.begin());
    odd.resize(out.size());
    ASSERT_EQ(odd, expected) << count;
  }
}

// Lanes of every kind at once, compared with the portable kernel, which the other tests compare with the
// reference.
TEST_P(EveryKernel, MixesLengthsFlagsCountersAndKeysInOnePass) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 600; ++round) {
    const size_t count = 1 + random() % 70;
    std::vector<std::vector<uint8_t>> inputs;
    std::vector<std::array<uint32_t, 8>> keys(count);
    std::vector<LaneInput> lanes;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t kind = random() % 4;
      const size_t size = kind == 0 ? 1024 : kind == 1 ? 64 : kind == 2 ? random() % 130 : random() % 1025;
      inputs.push_back(SampleBlob(size, random()));
      for (uint32_t& word : keys[i]) word = static_cast<uint32_t>(random());
    }
    std::vector<uint8_t> out(count * 32);
    std::vector<uint8_t> expected(count * 32);
    for (size_t i = 0; i < count; ++i) {
      lanes.push_back({inputs[i].data(), out.data() + i * 32, keys[i].data(), random() >> (random() % 64),
                       static_cast<uint32_t>(inputs[i].size()), static_cast<uint8_t>(random() % 128),
                       static_cast<uint8_t>(random() % 128), static_cast<uint8_t>(random() % 128)});
    }
    kernel().hash_lanes(lanes.data(), count);
    for (size_t i = 0; i < count; ++i) lanes[i].out = expected.data() + i * 32;
    (*(AllKernels().end() - 1))->hash_lanes(lanes.data(), count);
    ASSERT_EQ(out, expected) << "round " << round << ", " << count << " inputs";
  }
}

TEST_P(EveryKernel, CompressesOneLaneLikeThePortableKernel) {
  const Kernel& portable = **(AllKernels().end() - 1);
  std::mt19937_64 random(8);
  for (int round = 0; round < 200; ++round) {
    const std::vector<uint8_t> blocks = SampleBlob(64 * 16, random());
    uint32_t chain[8];
    for (uint32_t& word : chain) word = static_cast<uint32_t>(random());
    const uint64_t counter = random();
    const uint8_t flags = static_cast<uint8_t>(random());
    const uint32_t block_bytes = static_cast<uint32_t>(random() % 65);
    std::vector<uint8_t> out(64);
    std::vector<uint8_t> expected(64);
    kernel().compress(chain, blocks.data(), block_bytes, counter, flags, out.data());
    portable.compress(chain, blocks.data(), block_bytes, counter, flags, expected.data());
    ASSERT_EQ(out, expected);
    uint32_t expected_chain[8];
    std::memcpy(expected_chain, chain, sizeof(chain));
    const size_t count = random() % 17;
    kernel().absorb(chain, blocks.data(), count, 64, counter, flags & 0xF0, kFlagChunkStart);
    portable.absorb(expected_chain, blocks.data(), count, 64, counter, flags & 0xF0, kFlagChunkStart);
    ASSERT_EQ(std::memcmp(chain, expected_chain, sizeof(chain)), 0);
  }
}

// The dispatcher, each case in a process of its own, because the choice is made once.

[[noreturn]] void ExitIfActive(const char* name) {
  ::setenv("COFFER_KERNEL", name, 1);
  std::exit(ActiveKernelName() == name ? 0 : 1);
}

TEST(KernelChoiceDeathTest, EnvironmentForcesOneByName) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const Kernel* kernel : SupportedKernels()) {
    EXPECT_EXIT(ExitIfActive(kernel->name), ::testing::ExitedWithCode(0), "") << kernel->name;
  }
}

TEST(KernelChoiceDeathTest, UnknownNameEndsTheProgramNamingTheChoices) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(ExitIfActive("fastest"), "COFFER_KERNEL=\"fastest\": no such kernel; this machine can run: .*portable");
}

// Says nothing on a CPU that runs all of them.
TEST(KernelChoiceDeathTest, KernelThatTheCpuLacksEndsTheProgram) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const Kernel* kernel : AllKernels()) {
    if (kernel->supported()) continue;
    EXPECT_DEATH(ExitIfActive(kernel->name), "this CPU lacks the instructions; this machine can run: .*portable");
  }
}

}  // namespace
}  // namespace coffer
