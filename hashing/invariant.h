// SPDX-License-Identifier: Apache-2.0
// How this library ends the program when a caller breaks a contract: with the contract's words.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace coffer {

// Aborts with `words` unless `holds`. In every build: a wrong digest is worse than a stopped program.
inline void RequireInvariant(bool holds, const char* words) {
  if (__builtin_expect(holds, 1)) return;
  std::fprintf(stderr, "coffer: broken invariant: %s\n", words);
  std::abort();
}

}  // namespace coffer
