// SPDX-License-Identifier: Apache-2.0
//
// One Verify. A single job on a store thread walks the content and queues what it sees; a write is in flight
// whenever the queue is not empty:
//
//   1. Push() queues a message and starts a write if none is in flight. It waits while the queue is full: a
//      client that does not read stops the walk, not the server;
//   2. OnWriteDone() writes the next message. The client is gone when it fails: the walk ends at its next look;
//   3. the walk's end is queued too. Whoever finds the walk ended, the queue empty and no write in flight,
//      calls Finish; afterwards neither touches the reactor.
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coffer/v1/blob_service.pb.h"
#include "server/backend.h"

namespace coffer {

// Owns itself.
class VerifyReactor final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  // A message is under 1 KiB: this much covers a burst of findings without stopping the walk.
  static constexpr size_t kMaxQueued = 256;
  // Often enough for a progress bar.
  static constexpr absl::Duration kProgressInterval = absl::Seconds(1);

  VerifyReactor(Backend& backend, const grpc::ByteBuffer& request);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // These run on the store thread of the walk.
  void Walk();
  absl::Status Verify(const v1::VerifyRequest& request);
  bool OnProgress(const VerifyProgress& progress);
  void Push(const v1::VerifyResponse& message);

  // For a race detector, as Turn: after the constructor and before the destructor.
  void ShowOrder();

  // Starts the next write, or finishes. Called with `lock` held, returns with it free and `this` possibly gone.
  void Proceed(std::unique_lock<std::mutex> lock);

  Backend& backend_;
  const grpc::ByteBuffer request_;
  Admission::Place place_;

  // Of the walk alone.
  VerifyProgress progress_;
  absl::Time next_progress_;

  std::mutex mutex_;
  std::condition_variable has_room_;
  std::deque<grpc::ByteBuffer> queue_;
  grpc::ByteBuffer in_flight_;
  bool is_writing_ = false;
  bool is_cancelled_ = false;
  bool has_ended_ = false;
  absl::Status result_;
};

}  // namespace coffer
