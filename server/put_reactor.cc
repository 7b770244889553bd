// SPDX-License-Identifier: Apache-2.0
#include "server/put_reactor.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/message_buffer.h"
#include "server/proto_conversion.h"

namespace coffer {

PutReactor::PutReactor(Backend& backend, grpc::ByteBuffer* response) : backend_(backend), response_(response) {
  absl::StatusOr<Admission::Place> place = backend_.admission.Admit(Admission::Kind::kCall);
  if (!place.ok()) {
    turn_.Give();
    Finish(ToGrpcStatus(place.status()));
    return;
  }
  place_ = *std::move(place);
  turn_.Give();
  StartRead(&buffer_);
}

void PutReactor::OnReadDone(bool ok) {
  turn_.Take();
  if (ok) {
    backend_.pool.Run([this] { ConsumeMessage(); });
  } else {
    turn_.Give();
    StartSendInitialMetadata();
  }
}

void PutReactor::OnSendInitialMetadataDone(bool ok) {
  turn_.Take();
  backend_.pool.Run([this, ok] {
    if (ok) {
      Commit();
    } else {
      End(absl::CancelledError("the stream ended before the client closed it: nothing was stored"));
    }
  });
}

void PutReactor::OnDone() {
  turn_.Take();
  delete this;
}

void PutReactor::ConsumeMessage() {
  if (absl::Status status = Consume(); !status.ok()) {
    End(status);
    return;
  }
  turn_.Give();
  StartRead(&buffer_);
}

absl::Status PutReactor::Consume() {
  absl::Status status = ParseBuffer(buffer_, message_);
  buffer_.Clear();
  if (!status.ok()) return status;
  if (!has_header_) {
    if (message_.part_case() == v1::PutRequest::kHeader) return BeginUpload(message_.header());
    return absl::InvalidArgumentError(
        message_.part_case() == v1::PutRequest::kData
            ? absl::StrCat("the first message of a put is data (", message_.data().size(),
                           " bytes): it must be the header")
            : "the first message of a put is empty: it must be the header");
  }
  switch (message_.part_case()) {
    case v1::PutRequest::kData:
      break;
    case v1::PutRequest::kHeader:
      return absl::InvalidArgumentError("a second header in a put: only the first message is one");
    case v1::PutRequest::PART_NOT_SET:
      return absl::InvalidArgumentError("a message of a put has neither header nor data");
  }
  if (message_.data().size() > kMaxDataBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a message of a put has ", message_.data().size(),
                                                   " bytes of data: at most ", kMaxDataBytes, " are allowed"));
  }
  return upload_->Append(message_.data());
}

absl::Status PutReactor::BeginUpload(const v1::PutHeader& header) {
  absl::StatusOr<UploadOptions> options = UploadOptionsFromWire(header);
  if (!options.ok()) return options.status();
  absl::StatusOr<std::unique_ptr<Upload>> upload = backend_.store.BeginUpload(*std::move(options));
  if (!upload.ok()) return upload.status();
  upload_ = *std::move(upload);
  has_header_ = true;
  return absl::OkStatus();
}

void PutReactor::Commit() {
  if (!has_header_) {
    End(absl::InvalidArgumentError("the put ended without a message: the first one must be the header"));
    return;
  }
  absl::StatusOr<PutResult> result = upload_->Commit();
  if (result.ok()) *response_ = ToBuffer(PutResultToWire(*result));
  End(result.status());
}

void PutReactor::End(const absl::Status& status) {
  upload_.reset();
  if (IsServerFailure(status)) backend_.report_failure("Put", status);
  turn_.Give();
  Finish(ToGrpcStatus(status));
}

}  // namespace coffer
