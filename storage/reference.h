// SPDX-License-Identifier: Apache-2.0
//
// The words for names: references, buckets, metadata, and how a caller selects a blob.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "absl/time/time.h"
#include "hashing/digest.h"

namespace coffer {

// Keys are lower-case; limits stand in names.h.
using Metadata = std::map<std::string, std::string>;

// What (bucket, name) stands for.
struct Reference {
  std::string bucket;
  std::string name;
  Digest digest;
  uint64_t size_bytes = 0;
  Metadata metadata;
  // When the reference was last written.
  absl::Time created;
};

struct Bucket {
  std::string name;
  absl::Time created;
};

// One blob, by content or by reference.
struct BlobSelector {
  std::string bucket;
  // A name in `bucket`, or the content's digest.
  std::variant<std::string, Digest> by;
};

// [offset_bytes, offset_bytes + length_bytes); length 0 means to the end of the blob.
struct ByteRange {
  uint64_t offset_bytes = 0;
  uint64_t length_bytes = 0;
};

}  // namespace coffer
