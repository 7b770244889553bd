// SPDX-License-Identifier: Apache-2.0
#include "server/message_buffer.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <utf8.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/names.h"

namespace coffer {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The parser stops at the first string that is not UTF-8, after storing it. Returns "name \"...\"" for that
// string, or nothing.
std::string FindBadString(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        const Message& inner = field->is_repeated()
                                   ? message.GetReflection()->GetRepeatedMessage(message, field, i)
                                   : message.GetReflection()->GetMessage(message, field);
        if (std::string found = FindBadString(inner); !found.empty()) return found;
      } else if (field->type() == FieldDescriptor::TYPE_STRING) {
        const std::string value = field->is_repeated()
                                      ? message.GetReflection()->GetRepeatedString(message, field, i)
                                      : message.GetReflection()->GetString(message, field);
        if (!utf8::is_valid(value.begin(), value.end())) return absl::StrCat(field->name(), " ", Quoted(value));
      }
    }
  }
  return "";
}

}  // namespace

absl::Status ParseBuffer(const grpc::ByteBuffer& buffer, Message& message) {
  grpc::ByteBuffer shared = buffer;
  grpc::ProtoBufferReader reader(&shared);
  if (reader.status().ok() && message.ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  const std::string type = message.GetDescriptor()->name();
  if (std::string found = FindBadString(message); !found.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(found, " in ", type, " is not UTF-8"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(buffer.Length(), " bytes are not a ", type, ": malformed, or with a string that is not UTF-8"));
}

grpc::ByteBuffer ToBuffer(const Message& message) {
  grpc::ByteBuffer buffer;
  bool own_buffer = false;
  // Fails only for messages over 2 GiB, which nothing here makes.
  const grpc::Status status =
      grpc::SerializationTraits<Message>::Serialize(message, &buffer, &own_buffer);
  GPR_ASSERT(status.ok());
  return buffer;
}

}  // namespace coffer
