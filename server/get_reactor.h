// SPDX-License-Identifier: Apache-2.0
//
// One Get. Either a job reads on a store thread or one write is in flight, never both, so no state is shared:
//
//   1. a job opens the blob and reads the first piece; only when that was verified is the header written;
//   2. OnWriteDone(true) writes the piece that was read, or starts a job that reads the next one and writes it;
//   3. the last message goes out together with the status. An error after the header becomes the status;
//   4. OnWriteDone(false), the client is gone: a job lets go of the content.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "coffer/v1/blob_service.pb.h"
#include "server/backend.h"
#include "server/turn.h"

namespace coffer {

// Owns itself.
class GetReactor final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  // Data bytes a message: "message 1 MiB of data" of the wire contract.
  static constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

  GetReactor(Backend& backend, const grpc::ByteBuffer& request);

  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  // These run on a store thread.
  void Begin();
  absl::Status Open();
  void Continue();
  absl::Status ReadPiece();
  void End(const absl::Status& status);

  void WritePiece();

  Backend& backend_;
  const grpc::ByteBuffer request_;
  Admission::Place place_;
  Turn turn_;
  std::unique_ptr<BlobReader> reader_;
  uint64_t remaining_bytes_ = 0;
  v1::GetResponse message_;
  bool piece_is_ready_ = false;
  // What is being written.
  grpc::ByteBuffer header_;
  grpc::ByteBuffer piece_;
};

}  // namespace coffer
