// SPDX-License-Identifier: Apache-2.0
//
// One request, one answer: parse, run on a store thread, answer. The one path that all unary RPCs take.
#pragma once

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/backend.h"
#include "server/message_buffer.h"
#include "server/proto_conversion.h"

namespace coffer {

// `work`: absl::StatusOr<Response>(const Request&), called on a store thread, not at all if the call was
// refused or cancelled before. `rpc` is a literal.
template <typename Request, typename Work>
grpc::ServerUnaryReactor* RunUnary(Backend& backend, absl::string_view rpc, grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response, Work work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  absl::StatusOr<Admission::Place> place = backend.admission.Admit(Admission::Kind::kCall);
  if (!place.ok()) {
    reactor->Finish(ToGrpcStatus(place.status()));
    return reactor;
  }
  backend.pool.Run([&backend, rpc, context, request = *request, response, reactor, work = std::move(work),
                    place = *std::move(place)] {
    if (context->IsCancelled()) {
      reactor->Finish(grpc::Status(grpc::StatusCode::CANCELLED, "cancelled by the client"));
      return;
    }
    Request message;
    absl::Status status = ParseBuffer(request, message);
    if (status.ok()) {
      auto result = work(std::as_const(message));
      status = result.status();
      if (status.ok()) *response = ToBuffer(*result);
    }
    if (IsServerFailure(status)) backend.report_failure(rpc, status);
    reactor->Finish(ToGrpcStatus(status));
  });
  return reactor;
}

}  // namespace coffer
