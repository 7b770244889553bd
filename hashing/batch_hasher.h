// SPDX-License-Identifier: Apache-2.0
// Many independent blobs at once, one chunk per SIMD lane: what small blobs need, whose own tree fills no
// vector.
#pragma once

#include "absl/types/span.h"
#include "hashing/bytes.h"
#include "hashing/digest.h"

namespace coffer {

// The digests of `blobs`, any number of any sizes, empty ones included: `out` has one element per blob and
// lies outside all of them. Blobs may overlap. On the calling thread, without allocation, with about 64 KiB of stack;
// safe to call from any thread.
void HashBatch(absl::Span<const ByteSpan> blobs, absl::Span<Digest> out);

}  // namespace coffer
