// SPDX-License-Identifier: Apache-2.0
// Hashing one stream of any length while it arrives, handing out its outboard on the way.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "hashing/bytes.h"
#include "hashing/digest.h"
#include "hashing/subtree.h"
#include "hashing/worker_pool.h"

namespace coffer {

// Takes the parents above chunk groups, strictly in post-order (tree_math.h, PostOrderIndex): height 1 joins
// two groups, an incomplete node at the right edge has the height of its position, ceil(log2(groups under
// it)). The root is the last call when the blob has more than one group; a blob of one group has no parents.
// Always called on the thread that calls Append or Finish.
using ParentSink = absl::AnyInvocable<void(int height, const ParentNode& node)>;

// Hashes a stream. One thread at a time calls it; the hashing itself may be spread over a pool that many
// TreeHashers share. Memory is bounded whatever the size of the stream.
class TreeHasher {
 public:
  // `pool` is borrowed and must outlive this; nullptr hashes on the calling thread. `sink` may be empty.
  TreeHasher(WorkerPool* pool, ParentSink sink);
  ~TreeHasher();

  TreeHasher(const TreeHasher&) = delete;
  TreeHasher& operator=(const TreeHasher&) = delete;

  // Appends `bytes`, in pieces of any size, empty ones included; they need not outlive the call. Not after
  // Finish.
  void Append(ByteSpan bytes);

  // Ends the stream and returns the digest. Once.
  Digest Finish();

  // Bytes appended so far.
  uint64_t size_bytes() const;

  // How many different threads have hashed chunks of this stream so far, the calling one included if it has; 0 for
  // a blob of one group, which Finish hashes at once.
  int hashing_threads() const;

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace coffer
