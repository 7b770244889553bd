// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/contents.h"

#include "tests/support/samples.h"

namespace coffer::faults {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;

// Around every border, one byte less and one more.
constexpr uint64_t kSmallBorders[] = {kKiB, 4 * kKiB, 16 * kKiB, 64 * kKiB};
constexpr uint64_t kLargeBorders[] = {kMiB, 8 * kMiB};
constexpr int kSmallOfAnySize = 24;
constexpr int kMediumOfAnySize = 6;
constexpr uint64_t kMaxHugeBytes = 24 * kMiB;

size_t Below(std::mt19937_64& random, size_t limit) {
  return std::uniform_int_distribution<size_t>(0, limit - 1)(random);
}

}  // namespace

Contents::Contents(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto add = [&](uint64_t size_bytes) {
    Blob blob;
    blob.bytes = RandomBytes(size_bytes, random());
    blob.digest = DigestOf(blob.bytes);
    if (by_digest_.emplace(blob.digest.ToHex(), blobs_.size()).second) blobs_.push_back(std::move(blob));
  };
  for (const uint64_t size_bytes : {uint64_t{0}, uint64_t{1}, uint64_t{4}}) add(size_bytes);
  for (const uint64_t border : kSmallBorders) {
    for (const int beside : {-1, 0, 1}) {
      if (border + beside <= 64 * kKiB) add(border + beside);
    }
  }
  for (int i = 0; i < kSmallOfAnySize; ++i) add(1 + Below(random, 64 * kKiB));
  small_ = blobs_.size();
  add(64 * kKiB + 1);
  for (int i = 0; i < kMediumOfAnySize; ++i) add(64 * kKiB + Below(random, kMiB));
  // One side of each border, for these cost time.
  for (const uint64_t border : kLargeBorders) add(border - Below(random, 2));
  huge_ = blobs_.size();
  add(8 * kMiB + 1 + Below(random, 2 * kMiB));
  add(8 * kMiB + 1 + (Below(random, 8) == 0 ? Below(random, kMaxHugeBytes - 8 * kMiB) : Below(random, 2 * kMiB)));
}

std::optional<ContentId> Contents::Find(const Digest& digest) const {
  const auto found = by_digest_.find(digest.ToHex());
  if (found == by_digest_.end()) return std::nullopt;
  return found->second;
}

ContentId Contents::Small(std::mt19937_64& random) const { return Below(random, small_); }

ContentId Contents::Huge(std::mt19937_64& random) const { return huge_ + Below(random, blobs_.size() - huge_); }

ContentId Contents::Any(std::mt19937_64& random) const {
  const size_t percent = Below(random, 100);
  if (percent == 0) return Huge(random);
  if (percent < 12) return small_ + Below(random, huge_ - small_);
  return Small(random);
}

}  // namespace coffer::faults
