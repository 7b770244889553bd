// SPDX-License-Identifier: Apache-2.0
//
// Protobuf messages in gRPC's buffers. Requests arrive as buffers because gRPC's own parsing hides errors: on
// the callback API a malformed request becomes UNIMPLEMENTED without a word, and a malformed message within a
// client's stream cannot be told from its clean end.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"

namespace coffer {

// Parses `buffer` into `message`. INVALID_ARGUMENT, naming the string field that is not UTF-8 if that is why, or the
// limit if there are so many fields that they would take far more memory than they took bytes.
absl::Status ParseBuffer(const grpc::ByteBuffer& buffer, google::protobuf::Message& message);

grpc::ByteBuffer ToBuffer(const google::protobuf::Message& message);

}  // namespace coffer
