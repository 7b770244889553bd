// SPDX-License-Identifier: Apache-2.0
#include "server/message_buffer.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <utf8.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/names.h"

namespace coffer {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::kint32max;
using google::protobuf::Message;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// A batch of 1,024 items with the 64 pairs of metadata that each may have takes 270,000.
constexpr size_t kMaxFields = 300'000;

// The parser stops at the first string that is not UTF-8, after storing it. Returns "name \"...\"" for that
// string, or nothing.
std::string FindBadString(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        const Message& inner = field->is_repeated() ? message.GetReflection()->GetRepeatedMessage(message, field, i)
                                                    : message.GetReflection()->GetMessage(message, field);
        if (std::string found = FindBadString(inner); !found.empty()) return found;
      } else if (field->type() == FieldDescriptor::TYPE_STRING) {
        const std::string value = field->is_repeated() ? message.GetReflection()->GetRepeatedString(message, field, i)
                                                       : message.GetReflection()->GetString(message, field);
        if (!utf8::is_valid(value.begin(), value.end())) return absl::StrCat(field->name(), " ", Quoted(value));
      }
    }
  }
  return "";
}

// Fields of a message and of those in it, until there are more than `limit`.
void CountFields(CodedInputStream& in, const Descriptor& type, size_t limit, size_t& count) {
  while (count <= limit) {
    const uint32_t tag = in.ReadTag();
    if (tag == 0) return;
    ++count;
    const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    uint32_t length = 0;
    if (field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!in.ReadVarint32(&length)) return;
      const CodedInputStream::Limit outer = in.PushLimit(static_cast<int>(std::min<uint32_t>(length, kint32max)));
      CountFields(in, *field->message_type(), limit, count);
      in.PopLimit(outer);
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      return;
    }
  }
}

// A field may cost far more in memory than on the wire: an empty item of a batch takes two bytes there.
absl::Status CheckFieldCount(const grpc::ByteBuffer& buffer, const Message& message) {
  grpc::ByteBuffer shared = buffer;
  grpc::ProtoBufferReader reader(&shared);
  CodedInputStream in(&reader);
  size_t count = 0;
  CountFields(in, *message.GetDescriptor(), kMaxFields, count);
  if (count <= kMaxFields) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a ", message.GetDescriptor()->name(), " of ", buffer.Length(),
                                                 " bytes has more than ", kMaxFields, " fields"));
}

}  // namespace

absl::Status ParseBuffer(const grpc::ByteBuffer& buffer, Message& message) {
  if (absl::Status status = CheckFieldCount(buffer, message); !status.ok()) return status;
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
  const grpc::Status status = grpc::SerializationTraits<Message>::Serialize(message, &buffer, &own_buffer);
  GPR_ASSERT(status.ok());
  return buffer;
}

}  // namespace coffer
