// SPDX-License-Identifier: Apache-2.0
//
// A file is cut into parts, complete subtrees of one size; each thread takes the next part, reads it and keeps its
// chaining value. At the end the values are joined pair by pair, level by level: all parts but the last are full, so
// this is the tree of the whole file.
#include "client/file_hasher.h"

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <vector>

#include "hashing/chunk.h"
#include "hashing/hasher.h"
#include "hashing/subtree.h"

namespace coffer::client {
namespace {

constexpr size_t kStreamBytes = size_t{1} << 20;
// Small enough to be hashed out of the cache that it was read into.
constexpr uint64_t kMinPartBytes = uint64_t{128} << 10;
// More parts would need more memory for their chaining values: these take 2 MiB.
constexpr uint64_t kMaxParts = uint64_t{1} << 16;

absl::Status Cancelled() { return absl::CancelledError("hashing was interrupted"); }

Digest JoinParts(std::vector<ChainingValue> values) {
  while (values.size() > 2) {
    std::vector<ParentNode> nodes;
    for (size_t i = 0; i + 1 < values.size(); i += 2) nodes.push_back({values[i], values[i + 1]});
    std::vector<ChainingValue> above(nodes.size());
    ParentChainingValues(nodes, absl::MakeSpan(above));
    if (values.size() % 2 == 1) above.push_back(values.back());
    values = std::move(above);
  }
  return RootDigest({values[0], values[1]});
}

}  // namespace

FileHasher::FileHasher(int threads) : others_(std::max(1, threads - 1)), threads_(threads) {}

absl::StatusOr<Digest> FileHasher::Hash(FileSource& source, const Progress& progress) {
  const uint64_t size_bytes = source.size_bytes().value_or(0);
  if (size_bytes <= kParallelBytes || threads_ == 1) return HashStream(source, progress);
  return HashParts(source, size_bytes, progress);
}

absl::StatusOr<Digest> FileHasher::HashStream(FileSource& source, const Progress& progress) {
  Hasher hasher;
  std::vector<uint8_t> buffer(std::min<uint64_t>(source.size_bytes().value_or(kStreamBytes), kStreamBytes) + 1);
  while (true) {
    const absl::StatusOr<size_t> count = source.Read(absl::MakeSpan(buffer));
    if (!count.ok()) return count.status();
    if (*count == 0) return hasher.Finalize();
    hasher.Update(ByteSpan(buffer.data(), *count));
    if (!progress(static_cast<int64_t>(*count))) return Cancelled();
  }
}

absl::StatusOr<Digest> FileHasher::HashParts(const FileSource& source, uint64_t size_bytes, const Progress& progress) {
  uint64_t part_bytes = kMinPartBytes;
  while (size_bytes / part_bytes >= kMaxParts) part_bytes *= 2;
  const uint64_t parts = (size_bytes + part_bytes - 1) / part_bytes;
  std::vector<ChainingValue> values(parts);
  std::atomic<uint64_t> next = 0;
  std::mutex mutex;
  absl::Status failure;  // guarded by mutex

  const auto work = [&] {
    std::vector<uint8_t> buffer(part_bytes);
    for (uint64_t part; (part = next++) < parts;) {
      const uint64_t begin = part * part_bytes;
      const absl::Span<uint8_t> bytes(buffer.data(), std::min(part_bytes, size_bytes - begin));
      absl::Status status = source.ReadAt(begin, bytes);
      if (status.ok() && !progress(static_cast<int64_t>(bytes.size()))) status = Cancelled();
      if (!status.ok()) {
        next = parts;
        std::lock_guard lock(mutex);
        failure.Update(status);
        return;
      }
      values[part] = SubtreeChainingValue(bytes, ChunkIndex{begin / kChunkBytes});
    }
  };

  std::latch done(threads_ - 1);
  for (int i = 1; i < threads_; ++i) {
    absl::AnyInvocable<void()> task = [&] {
      work();
      done.count_down();
    };
    // The queue holds many times as many tasks.
    if (!others_.TrySchedule(task)) done.count_down();
  }
  work();
  done.wait();
  if (!failure.ok()) return failure;
  return JoinParts(std::move(values));
}

}  // namespace coffer::client
