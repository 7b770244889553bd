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
    return absl::InvalidArgumentError(message_.part_case() == v1::PutRequest::kData
                                          ? absl::StrCat("the first message of a put is data (", message_.data().size(),
                                                         " bytes): it must be the header")
                                          : "the first message of a put is empty: it must be the header");
  }
  if (has_end_) return absl::InvalidArgumentError("a message of a put follows its end message: that is the last one");
  switch (message_.part_case()) {
    case v1::PutRequest::kData:
      break;
    case v1::PutRequest::kEnd:
      return TakeEnd(message_.end());
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

absl::Status PutReactor::TakeEnd(const v1::PutEnd& end) {
  std::optional<Digest> expected_digest;
  if (!end.expected_digest().empty()) {
    absl::StatusOr<Digest> digest = DigestFromWire(end.expected_digest(), "expected_digest");
    if (!digest.ok()) return digest.status();
    expected_digest = *digest;
  }
  upload_->Claim(end.size_bytes(), expected_digest);
  has_end_ = true;
  return absl::OkStatus();
}

void PutReactor::Commit() {
  if (!has_header_) {
    End(absl::InvalidArgumentError("the put ended without a message: the first one must be the header"));
    return;
  }
  // gRPC ends a stream whose last message was cut off, or broke its framing, as it ends a whole one.
  if (!upload_->has_claims()) {
    End(absl::InvalidArgumentError(absl::StrCat(
        "the put ended after ", upload_->size_bytes(),
        " bytes without having said where it ends: give size_bytes or expected_digest in the header, or send "
        "an end message")));
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
