// SPDX-License-Identifier: Apache-2.0
//
// 10,000 random cases (length, split, mode, key, output place) against the official BLAKE3, through LLVM's C interface
// to it. Built only where that is installed.
#include <gtest/gtest.h>
#include <llvm-c/blake3.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "hashing/hasher.h"
#include "hashing/tree_hasher.h"

namespace coffer {
namespace {

TEST(OfficialBlake3, AgreesInTenThousandRandomCases) {
  std::mt19937_64 random(20260901);
  std::vector<uint8_t> bytes(3 << 20);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  for (int i = 0; i < 10000; ++i) {
    // Lengths of every magnitude, often at a border of chunks.
    size_t length = random() % (size_t{1} << (random() % 21 + 1));
    if (i % 4 == 0) length = std::min(bytes.size() - 1, length / 1024 * 1024 + random() % 3);
    const size_t offset = random() % (bytes.size() - length);
    const ByteSpan input(bytes.data() + offset, length);
    std::array<uint8_t, 32> key;
    for (uint8_t& byte : key) byte = static_cast<uint8_t>(random());
    const std::string context = "coffer test " + std::to_string(random());
    const int mode = i % 3;

    llvm_blake3_hasher official;
    Hasher ours;
    if (mode == 0) llvm_blake3_hasher_init(&official);
    if (mode == 1) {
      llvm_blake3_hasher_init_keyed(&official, key.data());
      ours = Hasher::Keyed(key);
    }
    if (mode == 2) {
      llvm_blake3_hasher_init_derive_key(&official, context.c_str());
      ours = Hasher::DeriveKey(context);
    }
    llvm_blake3_hasher_update(&official, input.data(), input.size());
    for (size_t begin = 0; begin < length;) {
      const size_t take = std::min<size_t>(length - begin, 1 + random() % (random() % 4 == 0 ? 200000 : 3000));
      ours.Update(input.subspan(begin, take));
      begin += take;
    }
    std::array<uint8_t, 100> expected;
    std::array<uint8_t, 100> found;
    // Far, around the largest offset, or near.
    const uint64_t seek = i % 5 == 0   ? random() % (uint64_t{1} << 40)
                          : i % 5 == 1 ? uint64_t{0} - 1 - random() % 200
                                       : random() % 300;
    llvm_blake3_hasher_finalize_seek(&official, seek, expected.data(), expected.size());
    XofReader output = ours.FinalizeXof();
    output.Seek(seek);
    output.Read(absl::MakeSpan(found));
    ASSERT_EQ(found, expected) << "case " << i << " mode " << mode << " length " << length << " seek " << seek;
    if (mode == 0) {
      TreeHasher tree(nullptr, {});
      tree.Append(input);
      ASSERT_EQ(tree.Finish(), ours.Finalize()) << "case " << i;
    }
  }
}

}  // namespace
}  // namespace coffer
