// SPDX-License-Identifier: Apache-2.0
#include "server/get_reactor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "server/message_buffer.h"
#include "server/proto_conversion.h"

namespace coffer {

GetReactor::GetReactor(Backend& backend, const grpc::ByteBuffer& request) : backend_(backend), request_(request) {
  absl::StatusOr<Admission::Place> place = backend_.admission.Admit(Admission::Kind::kCall);
  if (!place.ok()) {
    turn_.Give();
    Finish(ToGrpcStatus(place.status()));
    return;
  }
  place_ = *std::move(place);
  backend_.pool.Run([this] { Begin(); });
}

void GetReactor::Begin() {
  absl::Status status = Open();
  if (status.ok() && remaining_bytes_ > 0) status = ReadPiece();
  if (!status.ok()) {
    End(status);
    return;
  }
  const bool has_piece = piece_is_ready_;
  turn_.Give();
  if (has_piece) {
    // Without set_buffer_hint: gRPC 1.51 then holds the initial metadata back as well, and waits for a flush that
    // may not come before the next keepalive ping.
    StartWrite(&header_);
  } else {
    StartWriteAndFinish(&header_, grpc::WriteOptions(), grpc::Status::OK);
  }
}

absl::Status GetReactor::Open() {
  v1::GetRequest request;
  if (absl::Status status = ParseBuffer(request_, request); !status.ok()) return status;
  if (request.proof()) return absl::UnimplementedError("a get with proof is not built yet");
  absl::StatusOr<BlobSelector> selector = SelectorFromWire(request.blob());
  if (!selector.ok()) return selector.status();
  absl::StatusOr<std::unique_ptr<BlobReader>> reader =
      backend_.store.Open(*selector, ByteRange{request.offset_bytes(), request.length_bytes()});
  if (!reader.ok()) return reader.status();
  reader_ = *std::move(reader);
  remaining_bytes_ = reader_->range().length_bytes;
  *message_.mutable_header() = GetHeaderToWire(*reader_);
  header_ = ToBuffer(message_);
  if (remaining_bytes_ == 0) reader_.reset();
  return absl::OkStatus();
}

void GetReactor::OnWriteDone(bool ok) {
  turn_.Take();
  if (!ok) {
    backend_.pool.Run([this] { End(absl::CancelledError("the client went away")); });
  } else if (piece_is_ready_) {
    WritePiece();
  } else {
    backend_.pool.Run([this] { Continue(); });
  }
}

void GetReactor::OnDone() {
  turn_.Take();
  delete this;
}

void GetReactor::Continue() {
  if (absl::Status status = ReadPiece(); !status.ok()) {
    End(status);
  } else {
    WritePiece();
  }
}

absl::Status GetReactor::ReadPiece() {
  const size_t wanted_bytes = std::min(remaining_bytes_, kPieceBytes);
  std::string& data = *message_.mutable_data();
  data.resize(wanted_bytes);
  const absl::StatusOr<size_t> got_bytes = reader_->Read(absl::MakeSpan(data.data(), data.size()));
  if (!got_bytes.ok()) return got_bytes.status();
  if (*got_bytes != wanted_bytes) {
    return absl::InternalError(absl::StrCat("content of ", reader_->digest().ToHex(), " ends ",
                                            remaining_bytes_ - *got_bytes, " bytes early"));
  }
  remaining_bytes_ -= wanted_bytes;
  piece_ = ToBuffer(message_);
  piece_is_ready_ = true;
  // Unpinned here, because that may wait for the disk and the last write has no reaction of its own.
  if (remaining_bytes_ == 0) reader_.reset();
  return absl::OkStatus();
}

void GetReactor::WritePiece() {
  piece_is_ready_ = false;
  const bool is_last = remaining_bytes_ == 0;
  turn_.Give();
  if (is_last) {
    StartWriteAndFinish(&piece_, grpc::WriteOptions(), grpc::Status::OK);
  } else {
    StartWrite(&piece_);
  }
}

void GetReactor::End(const absl::Status& status) {
  reader_.reset();
  if (IsServerFailure(status)) backend_.report_failure("Get", status);
  turn_.Give();
  Finish(ToGrpcStatus(status));
}

}  // namespace coffer
