// SPDX-License-Identifier: Apache-2.0
//
// The suite. A test binary links coffer_contract_suite and instantiates it:
//   INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, testing::Values(StoreFactory{"Memory", ...}), StoreName);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "tests/contract/store_under_test.h"

namespace coffer {

struct StoreFactory {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>()> make;
};

inline std::string StoreName(const testing::TestParamInfo<StoreFactory>& info) { return info.param.name; }

class StoreContract : public testing::TestWithParam<StoreFactory> {
 protected:
  StoreContract() : store_(GetParam().make()) {}

  absl::StatusOr<PutResult> Put(const std::string& bucket, const std::string& name, const std::string& content,
                                const Metadata& metadata = {});
  absl::StatusOr<std::string> Get(const std::string& bucket, const std::string& name);
  absl::StatusOr<std::string> Get(const BlobSelector& blob, ByteRange range = {});

  const std::unique_ptr<StoreUnderTest> store_;
};

// Bytes that do not compress and differ by seed.
std::string RandomBytes(size_t size_bytes, uint64_t seed);

// For suites: the usual ways to select, and to read a whole blob.
Digest DigestOf(const std::string& content);
BlobSelector Named(const std::string& bucket, const std::string& name);
BlobSelector ByDigest(const Digest& digest);
absl::StatusOr<std::string> ReadAll(OpenRead& read, size_t piece_bytes = 200 * 1000);

}  // namespace coffer
