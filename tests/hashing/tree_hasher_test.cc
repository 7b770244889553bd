// SPDX-License-Identifier: Apache-2.0
// TreeHasher against the reference: digest and every parent in post-order, with any number of workers, in any
// pieces.
#include "hashing/tree_hasher.h"

#include <memory>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "hashing/subtree.h"
#include "hashing/tree_math.h"
#include "tests/hashing/sample_blobs.h"
#include "tests/reference/reference_tree.h"
#include "tests/support/latch.h"

namespace coffer {
namespace {

using reference::Bytes;

// Collects what a sink is given, as the reference lists it.
struct Collected {
  std::vector<reference::Parent> parents;
  ParentSink Sink() {
    return [this](int height, const ParentNode& node) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(&node);
      parents.push_back({height, Bytes(bytes, bytes + sizeof(node))});
    };
  }
};

class TreeHasherWith : public ::testing::TestWithParam<int> {
 protected:
  WorkerPool* pool() {
    if (GetParam() == 0) return nullptr;
    if (pool_ == nullptr) pool_ = std::make_unique<WorkerPool>(GetParam());
    return pool_.get();
  }
  Digest HashInPieces(ByteSpan blob, size_t piece_bytes, ParentSink sink) {
    TreeHasher hasher(pool(), std::move(sink));
    for (size_t at = 0; at < blob.size(); at += piece_bytes) hasher.Append(blob.subspan(at, piece_bytes));
    EXPECT_EQ(hasher.size_bytes(), blob.size());
    return hasher.Finish();
  }

 private:
  std::unique_ptr<WorkerPool> pool_;
};

INSTANTIATE_TEST_SUITE_P(Workers, TreeHasherWith, ::testing::Values(0, 1, 2, 8, 16),
                         [](const auto& param_info) { return std::to_string(param_info.param); });

TEST_P(TreeHasherWith, EqualsTheReferenceAtEveryBoundary) {
  for (size_t size : BoundarySizes(1 << 20)) {
    const Bytes blob = SampleBlob(size);
    Collected collected;
    const Digest digest = HashInPieces(blob, size + 1, collected.Sink());
    ASSERT_EQ(digest, HashBlob(blob)) << size;
    ASSERT_EQ(collected.parents, reference::PostOrderParents(blob)) << size;
  }
}

TEST_P(TreeHasherWith, TakesPiecesOfAnySize) {
  std::mt19937_64 random(11);
  const Bytes blob = SampleBlob((5 << 20) + 12345);
  const std::vector<reference::Parent> expected = reference::PostOrderParents(blob);
  const Digest digest = HashBlob(blob);
  for (size_t piece : {size_t{60 << 10}, size_t{61441}, size_t{16384}, size_t{999}, size_t{1 << 20}, size_t{3 << 20}}) {
    Collected collected;
    ASSERT_EQ(HashInPieces(blob, piece, collected.Sink()), digest) << piece;
    ASSERT_EQ(collected.parents, expected) << piece;
  }
  for (int round = 0; round < 20; ++round) {
    const ByteSpan part = ByteSpan(blob).first(random() % blob.size());
    Collected collected;
    TreeHasher hasher(pool(), collected.Sink());
    for (size_t at = 0; at < part.size();) {
      const size_t take = std::min<size_t>(part.size() - at, random() % (size_t{1} << (random() % 23)));
      hasher.Append(part.subspan(at, take));
      at += take;
    }
    ASSERT_EQ(hasher.Finish(), HashBlob(part));
    ASSERT_EQ(collected.parents, reference::PostOrderParents(Bytes(part.begin(), part.end())));
  }
}

TEST_P(TreeHasherWith, WorksWithoutASink) {
  const Bytes blob = SampleBlob(2 << 20);
  EXPECT_EQ(HashInPieces(blob, 100000, nullptr), HashBlob(blob));
}

TEST_P(TreeHasherWith, MayBeDroppedInTheMiddle) {
  const Bytes blob = SampleBlob(3 << 20);
  TreeHasher hasher(pool(), nullptr);
  hasher.Append(blob);
}

TEST_P(TreeHasherWith, MayBeDroppedWhileRunsWait) {
  const Bytes blob = SampleBlob(60 << 10);
  for (int round = 0; round < 50; ++round) {
    TreeHasher hasher(pool(), nullptr);
    for (int i = 0; i < round; ++i) hasher.Append(blob);
  }
}

TEST(TreeHasher, SpreadsOneStreamOverWorkers) {
  WorkerPool pool(2);
  const Bytes blob = SampleBlob(60 << 10);
  TreeHasher hasher(&pool, nullptr);
  // Until a second thread has had its turn: how soon depends on the machine.
  for (int i = 0; i < 100000 && hasher.hashing_threads() < 2; ++i) hasher.Append(blob);
  EXPECT_GE(hasher.hashing_threads(), 2);
  hasher.Finish();
}

// The pool is busy with others all the time: the stream goes on alone, and its tickets find it gone.
TEST(TreeHasher, DoesNotWaitForABusyPool) {
  WorkerPool pool(1);
  const testing::Latch latch;
  absl::AnyInvocable<void()> blocker = [latch] { latch.Wait(); };
  ASSERT_TRUE(pool.TrySchedule(blocker));
  const Bytes blob = SampleBlob(5 << 20);
  // With room for tickets, and then with none.
  for (bool full : {false, true}) {
    absl::AnyInvocable<void()> nothing = [] {};
    while (full && pool.TrySchedule(nothing)) nothing = [] {};
    for (size_t piece : {size_t{60} << 10, blob.size()}) {
      TreeHasher hasher(&pool, nullptr);
      for (size_t at = 0; at < blob.size(); at += piece) hasher.Append(ByteSpan(blob).subspan(at, piece));
      EXPECT_EQ(hasher.Finish(), HashBlob(blob));
      EXPECT_EQ(hasher.hashing_threads(), 1);
    }
  }
  latch.Open();
}

TEST(TreeHasher, ManyStreamsShareOnePool) {
  WorkerPool pool(3);
  const Bytes blob = SampleBlob(5 << 20);
  const Digest expected = HashBlob(blob);
  std::vector<std::thread> uploads;
  for (size_t i = 0; i < 6; ++i) {
    uploads.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        TreeHasher hasher(&pool, nullptr);
        const size_t piece = 50000 + i * 60000;
        for (size_t at = 0; at < blob.size(); at += piece) hasher.Append(ByteSpan(blob).subspan(at, piece));
        EXPECT_EQ(hasher.Finish(), expected);
      }
    });
  }
  for (std::thread& upload : uploads) upload.join();
}

TEST(TreeHasher, OneThreadHashesWithoutAPool) {
  const Bytes blob = SampleBlob(3 << 20);
  TreeHasher hasher(nullptr, nullptr);
  hasher.Append(blob);
  hasher.Finish();
  EXPECT_EQ(hasher.hashing_threads(), 1);
}

TEST(TreeHasherDeathTest, RefusesToGoOnAfterFinish) {
  TreeHasher hasher(nullptr, nullptr);
  hasher.Finish();
  EXPECT_DEATH(hasher.Append(BytesOf("x")), "nothing is appended to a finished TreeHasher");
  EXPECT_DEATH(hasher.Finish(), "a TreeHasher finishes once");
}

}  // namespace
}  // namespace coffer
