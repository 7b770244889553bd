// SPDX-License-Identifier: Apache-2.0
// The NEON kernel against the reference and the portable kernel, as a program of its own: it needs no library that a
// cross compiler would have to bring along. On ARM, hashing_test says the same and more.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "hashing/kernel.h"
#include "tests/reference/reference_tree.h"

namespace coffer {
namespace {

using reference::Bytes;

void Require(bool holds, const char* words, size_t number) {
  if (holds) return;
  std::printf("neon: %s is wrong at %zu\n", words, number);
  std::exit(1);
}

Bytes RandomBytes(std::mt19937_64& random, size_t size_bytes) {
  Bytes bytes(size_bytes);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

void CheckChunks(const Kernel& neon, std::mt19937_64& random) {
  const Bytes bytes = RandomBytes(random, 20 * 1024);
  for (size_t size = 1; size < bytes.size(); size += size < 1200 ? 1 : 1 + random() % 300) {
    // Odd places too: no input is aligned.
    const size_t at = random() % (bytes.size() - size + 1);
    const uint64_t counter = 0xFFFFFFFE + random() % 3;
    Bytes out((size + 1023) / 1024 * 32);
    neon.hash_chunks(bytes.data() + at, size, kInitialWords, counter, 0, out.data());
    for (size_t chunk = 0; chunk * 1024 < size; ++chunk) {
      const auto begin = bytes.begin() + static_cast<long>(at + chunk * 1024);
      const Bytes input(begin, begin + static_cast<long>(std::min<size_t>(1024, size - chunk * 1024)));
      const Bytes expected = reference::ChainingValue(input, counter + chunk);
      Require(std::memcmp(out.data() + chunk * 32, expected.data(), 32) == 0, "hash_chunks", size);
    }
  }
}

void CheckParents(const Kernel& neon, const Kernel& portable, std::mt19937_64& random) {
  for (size_t count = 0; count < 40; ++count) {
    Bytes nodes = RandomBytes(random, count * 64);
    Bytes out(count * 32 + 1);
    Bytes expected(out.size());
    portable.hash_parents(nodes.data(), count, kInitialWords, kFlagParent, expected.data());
    neon.hash_parents(nodes.data(), count, kInitialWords, kFlagParent, out.data());
    Require(out == expected, "hash_parents", count);
    neon.hash_parents(nodes.data(), count, kInitialWords, kFlagParent, nodes.data());
    Require(std::equal(nodes.begin(), nodes.begin() + static_cast<long>(count * 32), expected.begin()),
            "hash_parents in place", count);
  }
}

void CheckLanes(const Kernel& neon, const Kernel& portable, std::mt19937_64& random) {
  for (size_t round = 0; round < 500; ++round) {
    const size_t count = random() % 20;
    std::vector<Bytes> inputs(count);
    std::vector<uint32_t> keys(count * 8);
    for (uint32_t& word : keys) word = static_cast<uint32_t>(random());
    std::vector<LaneInput> lanes(count);
    Bytes out(count * 32);
    Bytes expected(count * 32);
    for (size_t i = 0; i < count; ++i) {
      inputs[i] = RandomBytes(random, random() % 2 == 0 ? random() % 130 : random() % 1025);
      lanes[i] = {inputs[i].data(),
                  out.data() + i * 32,
                  keys.data() + (round % 2 == 0 ? 0 : i * 8),
                  random() >> (random() % 64),
                  static_cast<uint32_t>(inputs[i].size()),
                  static_cast<uint8_t>(random() % 128),
                  static_cast<uint8_t>(random() % 128),
                  static_cast<uint8_t>(random() % 128)};
    }
    neon.hash_lanes(lanes.data(), count);
    for (size_t i = 0; i < count; ++i) lanes[i].out = expected.data() + i * 32;
    portable.hash_lanes(lanes.data(), count);
    Require(out == expected, "hash_lanes", round);
  }
}

int Check() {
  const Kernel& neon = ActiveKernel();
  Require(std::strcmp(neon.name, "neon") == 0, "the choice of the kernel", 0);
  const Kernel& portable = **(AllKernels().end() - 1);
  std::mt19937_64 random(41);
  CheckChunks(neon, random);
  CheckParents(neon, portable, random);
  CheckLanes(neon, portable, random);
  std::printf("the NEON kernel equals the reference and the portable kernel\n");
  return 0;
}

}  // namespace
}  // namespace coffer

int main() { return coffer::Check(); }
