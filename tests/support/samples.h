// SPDX-License-Identifier: Apache-2.0
//
// Content for tests, and what it must hash to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "hashing/digest.h"

namespace coffer {

// Bytes that do not compress, differ by seed and are the same in every run.
std::string RandomBytes(size_t size_bytes, uint64_t seed = 1);

Digest DigestOf(const std::string& content);

}  // namespace coffer
