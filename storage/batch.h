// SPDX-License-Identifier: Apache-2.0
//
// Many small blobs in one step: hashed side by side, one chunk a SIMD lane, and committed with one sync.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "hashing/digest.h"
#include "storage/engine.h"
#include "storage/put_claims.h"
#include "storage/reference.h"

namespace coffer {

inline constexpr size_t kMaxBatch = 1024;
// The content of all items of a put together, and of all answers of a get.
inline constexpr size_t kMaxBatchBytes = size_t{3} << 20;

// `content` is borrowed for the call.
struct BatchItem {
  UploadOptions options;
  absl::string_view content;
};

struct BatchBlob {
  Digest digest;
  std::string content;
};

// Puts what can be put in one commit, and answers for each item in order, as Upload would; the failure of one does
// not touch the others. If the commit fails all that took part in it get its error.
std::vector<absl::StatusOr<PutResult>> PutBatch(Engine& engine, absl::Span<const BatchItem> items, absl::Time now);

struct OpenedBlob {
  Digest digest;
  std::unique_ptr<Content> content;
};

// Reads `count` blobs whole and proves them, the small ones side by side. `open` gives the i-th or the reason why not,
// which is passed on; each is held only while it is read. DATA_LOSS names digest and byte range; what would bring the
// answers together above kMaxBatchBytes gets RESOURCE_EXHAUSTED.
std::vector<absl::StatusOr<BatchBlob>> GetBatch(size_t count,
                                                absl::FunctionRef<absl::StatusOr<OpenedBlob>(size_t)> open);

}  // namespace coffer
