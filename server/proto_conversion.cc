// SPDX-License-Identifier: Apache-2.0
#include "server/proto_conversion.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/names.h"

namespace coffer {
namespace {

// Clients accept 8 KiB of trailing metadata, and escaping may triple a message.
constexpr size_t kMaxMessageBytes = 2048;

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.raw_code()),
                      std::string(status.message().substr(0, kMaxMessageBytes)));
}

bool IsServerFailure(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

absl::StatusOr<Digest> DigestFromWire(absl::string_view bytes, absl::string_view field) {
  if (bytes.size() != Digest::kSizeBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " has ", bytes.size(), " bytes: a digest has exactly ", Digest::kSizeBytes));
  }
  return Digest::FromBytes(bytes);
}

absl::StatusOr<std::vector<Digest>> DigestsFromWire(const google::protobuf::RepeatedPtrField<std::string>& digests) {
  std::vector<Digest> result;
  result.reserve(digests.size());
  for (int i = 0; i < digests.size(); ++i) {
    absl::StatusOr<Digest> digest = DigestFromWire(digests[i], absl::StrCat("digests[", i, "]"));
    if (!digest.ok()) return digest.status();
    result.push_back(*digest);
  }
  return result;
}

absl::StatusOr<BlobSelector> SelectorFromWire(const v1::BlobSelector& selector) {
  switch (selector.by_case()) {
    case v1::BlobSelector::kName:
      return BlobSelector{selector.bucket(), selector.name()};
    case v1::BlobSelector::kDigest: {
      absl::StatusOr<Digest> digest = DigestFromWire(selector.digest(), "digest");
      if (!digest.ok()) return digest.status();
      return BlobSelector{selector.bucket(), *digest};
    }
    case v1::BlobSelector::BY_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("blob has neither a name nor a digest: exactly one of them selects it");
}

absl::StatusOr<UploadOptions> UploadOptionsFromWire(const v1::PutHeader& header) {
  UploadOptions options;
  options.bucket = header.bucket();
  options.name = header.name();
  if (!header.expected_digest().empty()) {
    absl::StatusOr<Digest> digest = DigestFromWire(header.expected_digest(), "expected_digest");
    if (!digest.ok()) return digest.status();
    options.expected_digest = *digest;
  }
  if (header.has_size_bytes()) options.declared_size_bytes = header.size_bytes();
  options.metadata = MetadataFromWire(header.metadata());
  return options;
}

Metadata MetadataFromWire(const google::protobuf::Map<std::string, std::string>& metadata) {
  return Metadata(metadata.begin(), metadata.end());
}

void MetadataToWire(const Metadata& metadata, google::protobuf::Map<std::string, std::string>& out) {
  for (const auto& [key, value] : metadata) out[key] = value;
}

std::string DigestToWire(const Digest& digest) { return std::string(digest.view()); }

google::protobuf::Timestamp TimeToWire(absl::Time time) {
  google::protobuf::Timestamp result;
  const int64_t seconds = absl::ToUnixSeconds(time);
  result.set_seconds(seconds);
  result.set_nanos(static_cast<int32_t>((time - absl::FromUnixSeconds(seconds)) / absl::Nanoseconds(1)));
  return result;
}

v1::Reference ReferenceToWire(const Reference& reference) {
  v1::Reference result;
  result.set_bucket(reference.bucket);
  result.set_name(reference.name);
  result.set_digest(DigestToWire(reference.digest));
  result.set_size_bytes(reference.size_bytes);
  MetadataToWire(reference.metadata, *result.mutable_metadata());
  *result.mutable_created() = TimeToWire(reference.created);
  return result;
}

v1::Bucket BucketToWire(const Bucket& bucket) {
  v1::Bucket result;
  result.set_bucket(bucket.name);
  *result.mutable_created() = TimeToWire(bucket.created);
  return result;
}

v1::PutResponse PutResultToWire(const PutResult& result) {
  v1::PutResponse response;
  response.set_digest(DigestToWire(result.digest));
  response.set_size_bytes(result.size_bytes);
  response.set_deduplicated(result.deduplicated);
  response.set_name(result.name);
  return response;
}

v1::StatResponse BlobInfoToWire(const BlobInfo& info) {
  v1::StatResponse response;
  response.set_digest(DigestToWire(info.digest));
  response.set_size_bytes(info.size_bytes);
  if (info.reference.has_value()) {
    response.set_name(info.reference->name);
    MetadataToWire(info.reference->metadata, *response.mutable_metadata());
    *response.mutable_created() = TimeToWire(info.reference->created);
  }
  return response;
}

v1::GetHeader GetHeaderToWire(const BlobReader& reader) {
  v1::GetHeader header;
  header.set_digest(DigestToWire(reader.digest()));
  header.set_size_bytes(reader.size_bytes());
  header.set_offset_bytes(reader.range().offset_bytes);
  header.set_length_bytes(reader.range().length_bytes);
  if (reader.reference().has_value()) MetadataToWire(reader.reference()->metadata, *header.mutable_metadata());
  return header;
}

}  // namespace coffer
