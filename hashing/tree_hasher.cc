// SPDX-License-Identifier: Apache-2.0
// How a stream becomes a digest:
// 1. The feeding thread cuts the stream into runs of up to 16 groups. Large pieces are cut where they lie, and
//    Append returns when they are hashed; small ones are gathered in buffers. Less than one group is always kept
//    back unless more follows, so that a blob of one group, which has no parent, is known when Finish comes.
// 2. Each run goes into the stream's queue, with a ticket for it into the pool. A worker with a ticket hashes the
//    first run that nobody has taken; so does the feeding thread when it would have to wait.
// 3. The feeding thread takes finished runs in order, hands their parents to the sink, and pushes their values on
//    the stack, which joins what is complete once more data follows (subtree_stack.h).
#include "hashing/tree_hasher.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "hashing/chunk.h"
#include "hashing/invariant.h"
#include "hashing/keyed_subtree.h"
#include "hashing/run_queue.h"
#include "hashing/subtree_stack.h"
#include "hashing/tree_math.h"

namespace coffer {
namespace {

// From here on a piece is hashed where it lies: copying it would cost more than the shorter runs at its ends.
constexpr size_t kBorrowBytes = 128 << 10;
// The last part of a piece is cut into shorter runs, so that all threads end at about the same time.
constexpr size_t kShortRunsBytes = 3 * kRunBytes;
constexpr size_t kQuadGroups = 4;
// A shorter piece is hashed before a sleeping worker is awake.
constexpr size_t kWakeBytes = 384 << 10;

}  // namespace

class TreeHasher::Stream {
 public:
  Stream(WorkerPool* pool, ParentSink sink)
      : pool_(pool),
        sink_(std::move(sink)),
        queue_(std::make_shared<RunQueue>(pool == nullptr ? 0 : pool->workers_per_stream())) {}

  ~Stream() {
    // Workers may still be reading our runs.
    queue_->Abandon();
    if (pool_ == nullptr) return;
    for (const std::unique_ptr<Run>& run : runs_) {
      if (run->buffer != nullptr) pool_->GiveBack(std::move(run->buffer));
    }
  }

  void Append(ByteSpan bytes) {
    RequireInvariant(!finished_, "nothing is appended to a finished TreeHasher");
    size_bytes_ += bytes.size();
    while (!bytes.empty()) {
      if (bytes.size() >= kBorrowBytes) {
        bytes = AppendInPlace(bytes);
      } else {
        bytes = Gather(bytes);
      }
    }
  }

  Digest Finish() {
    RequireInvariant(!finished_, "a TreeHasher finishes once");
    finished_ = true;
    if (size_bytes_ <= kGroupBytes) {
      return HashBlob(gathering_ == nullptr ? ByteSpan() : ByteSpan(gathering_->buffer.get(), gathered_bytes_));
    }
    if (gathered_bytes_ > 0) QueueGathered(gathered_bytes_);
    CollectAll();
    const ParentNode root =
        stack_.FinishRoot([this](int height, const ParentNode& node) { return Join(height, node); });
    if (sink_) sink_(HeightOf(stack_.leaves()), root);
    return RootDigest(root);
  }

  uint64_t size_bytes() const { return size_bytes_; }
  int hashing_threads() const { return queue_->hashing_threads(); }

 private:
  // Bytes until the next multiple of `groups` groups.
  size_t RoomIn(size_t groups) const { return static_cast<size_t>(groups - queued_groups_ % groups) * kGroupBytes; }

  // Step 1 for a piece of at least kBorrowBytes; returns its tail of less than one group.
  ByteSpan AppendInPlace(ByteSpan bytes) {
    if (gathered_bytes_ > 0) {
      // Fills the last group, so that the rest of the piece starts at a group.
      const size_t missing = (kGroupBytes - gathered_bytes_ % kGroupBytes) % kGroupBytes;
      CopyIn(bytes.subspan(0, missing));
      bytes.remove_prefix(missing);
      QueueGathered(gathered_bytes_);
    }
    const size_t whole_bytes = bytes.size() / kGroupBytes * kGroupBytes;
    ByteSpan whole = bytes.subspan(0, whole_bytes);
    const bool wake = whole_bytes >= kWakeBytes;
    while (!whole.empty()) {
      const size_t room = pool_ != nullptr && whole.size() < kShortRunsBytes ? RoomIn(kQuadGroups) : RoomIn(kRunGroups);
      const ByteSpan run_span = whole.subspan(0, std::min(room, whole.size()));
      // The blob is longer than a quad, so no quad's top is the root.
      const bool by_quads = queued_groups_ % kQuadGroups == 0 && run_span.size() % (kQuadGroups * kGroupBytes) == 0;
      Queue(FreeRun(), run_span, by_quads, wake);
      whole.remove_prefix(run_span.size());
    }
    CollectAll();
    return bytes.subspan(whole_bytes);
  }

  // Step 1 for a smaller piece; returns what did not fit into the run.
  ByteSpan Gather(ByteSpan bytes) {
    if (gathered_bytes_ > 0 && gathered_bytes_ == RoomIn(kRunGroups)) QueueGathered(gathered_bytes_);
    const size_t take = std::min(bytes.size(), RoomIn(kRunGroups) - gathered_bytes_);
    CopyIn(bytes.subspan(0, take));
    return bytes.subspan(take);
  }

  void CopyIn(ByteSpan bytes) {
    if (gathering_ == nullptr) {
      gathering_ = FreeRun();
      if (gathering_->buffer == nullptr) gathering_->buffer = NewBuffer();
    }
    if (!bytes.empty()) std::memcpy(gathering_->buffer.get() + gathered_bytes_, bytes.data(), bytes.size());
    gathered_bytes_ += bytes.size();
  }

  std::unique_ptr<uint8_t[]> NewBuffer() {
    static_assert(WorkerPool::kBufferBytes == kRunBytes);
    return pool_ != nullptr ? pool_->TakeBuffer() : std::unique_ptr<uint8_t[]>(new uint8_t[kRunBytes]);
  }

  void QueueGathered(size_t bytes) {
    Run* const run = std::exchange(gathering_, nullptr);
    gathered_bytes_ = 0;
    Queue(run, ByteSpan(run->buffer.get(), bytes), bytes == kRunBytes, true);
  }

  // Step 2.
  void Queue(Run* run, ByteSpan bytes, bool by_quads, bool wake) {
    run->bytes = bytes;
    run->by_quads = by_quads;
    run->first_group = GroupIndex(queued_groups_);
    queued_groups_ += run->groups();
    in_order_[queued_++ % RunQueue::kMaxRuns] = run;
    if (pool_ == nullptr) {
      (void)queue_->Push(run);
      queue_->HashOne();
    } else if (queue_->Push(run)) {
      absl::AnyInvocable<void()> ticket = [queue = queue_] { queue->Help(); };
      // A full pool is no failure: this thread does the work itself.
      if (!(wake ? pool_->TrySchedule(ticket) : pool_->TryHandOver(ticket))) queue_->HelperRefused();
    }
    CollectDone();
  }

  // A run that nobody uses, waiting for the first in the queue if all are there.
  Run* FreeRun() {
    if (free_.empty() && runs_.size() < RunQueue::kMaxRuns) {
      runs_.push_back(std::make_unique<Run>());
      free_.push_back(runs_.back().get());
    }
    while (free_.empty()) HelpOrWait();
    Run* const run = free_.back();
    free_.pop_back();
    return run;
  }

  void CollectAll() {
    while (collected_ < queued_) HelpOrWait();
  }

  void HelpOrWait() {
    if (!queue_->HashOne()) queue_->AwaitFirst(*in_order_[collected_ % RunQueue::kMaxRuns]);
    CollectDone();
  }

  // Step 3.
  void CollectDone() {
    while (Run* const run = queue_->PopDone()) {
      ++collected_;
      Collect(*run);
      free_.push_back(run);
    }
  }

  void Collect(const Run& run) {
    const auto join = [this](int height, const ParentNode& node) { return Join(height, node); };
    if (!run.by_quads) {
      for (size_t i = 0; i < run.groups(); ++i) stack_.Push(run.tree.groups[i], 1, join);
      return;
    }
    stack_.JoinComplete(join);
    if (run.complete()) {
      for (size_t half = 0; half < 2; ++half) {
        if (sink_) SendHalf(run.tree, half);
        stack_.Push(run.tree.halves[half], kRunGroups / 2, join);
      }
      return;
    }
    for (size_t quad = 0; quad < run.groups() / kQuadGroups; ++quad) {
      stack_.JoinComplete(join);
      if (sink_) SendQuad(run.tree, quad);
      stack_.Push(run.tree.quads[quad], kQuadGroups, join);
    }
  }

  // The parents of a run's quad or half, its top included, to the sink.
  void SendQuad(const RunTree& tree, size_t quad) {
    for (size_t pair = 2 * quad; pair < 2 * quad + 2; ++pair) {
      sink_(1, {tree.groups[2 * pair], tree.groups[2 * pair + 1]});
    }
    sink_(2, {tree.pairs[2 * quad], tree.pairs[2 * quad + 1]});
  }
  void SendHalf(const RunTree& tree, size_t half) {
    SendQuad(tree, 2 * half);
    SendQuad(tree, 2 * half + 1);
    sink_(3, {tree.quads[2 * half], tree.quads[2 * half + 1]});
  }

  ChainingValue Join(int height, const ParentNode& node) {
    if (sink_) sink_(height, node);
    return ParentChainingValue(node);
  }

  WorkerPool* const pool_;
  ParentSink sink_;
  std::shared_ptr<RunQueue> queue_;
  SubtreeStack stack_;
  // All runs made so far, at most kMaxRuns, and those that are neither gathering nor in the queue.
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<Run*> free_;
  Run* gathering_ = nullptr;
  size_t gathered_bytes_ = 0;
  // What is in the queue, as a ring: [collected_, queued_) of the stream's runs.
  std::array<Run*, RunQueue::kMaxRuns> in_order_;
  uint64_t collected_ = 0;
  uint64_t queued_ = 0;
  uint64_t queued_groups_ = 0;
  uint64_t size_bytes_ = 0;
  bool finished_ = false;
};

TreeHasher::TreeHasher(WorkerPool* pool, ParentSink sink) : stream_(std::make_unique<Stream>(pool, std::move(sink))) {}
TreeHasher::~TreeHasher() = default;
void TreeHasher::Append(ByteSpan bytes) { stream_->Append(bytes); }
Digest TreeHasher::Finish() { return stream_->Finish(); }
uint64_t TreeHasher::size_bytes() const { return stream_->size_bytes(); }
int TreeHasher::hashing_threads() const { return stream_->hashing_threads(); }

}  // namespace coffer
