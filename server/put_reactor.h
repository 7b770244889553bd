// SPDX-License-Identifier: Apache-2.0
//
// One Put. At any time exactly one of these holds, so no state is shared:
//
//   1. a read is in flight; OnReadDone(true) starts a job that consumes the message, which then goes back to 1
//      (the next read starts only when the bytes are taken: that is the back-pressure), or to 4 with an error;
//   2. OnReadDone(false): the client half-closed, or the stream broke. gRPC does not say which, and
//      IsCancelled() may not know yet. So the initial metadata is sent now: a broken stream cannot carry it;
//   3. it was sent: a job commits the upload. It was not: a job discards it;
//   4. Finish was called, once; OnDone deletes.
//
// A cancelled call ends its read, so 2 and 3 free the upload; OnCancel has nothing to add.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/status/status.h"
#include "coffer/v1/blob_service.pb.h"
#include "server/backend.h"
#include "server/turn.h"

namespace coffer {

// Owns itself.
class PutReactor final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  // Data bytes a message: "message 1 MiB of data" of the wire contract.
  static constexpr size_t kMaxDataBytes = size_t{1} << 20;

  PutReactor(Backend& backend, grpc::ByteBuffer* response);

  void OnReadDone(bool ok) override;
  void OnSendInitialMetadataDone(bool ok) override;
  void OnDone() override;

 private:
  // These run on a store thread.
  void ConsumeMessage();
  absl::Status Consume();
  absl::Status BeginUpload(const v1::PutHeader& header);
  absl::Status TakeEnd(const v1::PutEnd& end);
  void Commit();
  void End(const absl::Status& status);

  Backend& backend_;
  grpc::ByteBuffer* const response_;
  Admission::Place place_;
  Turn turn_;
  grpc::ByteBuffer buffer_;
  v1::PutRequest message_;
  bool has_header_ = false;
  bool has_end_ = false;
  std::unique_ptr<Upload> upload_;
};

}  // namespace coffer
