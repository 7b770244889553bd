// SPDX-License-Identifier: Apache-2.0
//
// Between the words of the wire and those of the store. Digests are checked here, where they stop being bytes;
// buckets, names, metadata and ranges are checked by BlobStore.
#pragma once

#include <google/protobuf/map.h>
#include <google/protobuf/repeated_field.h>
#include <google/protobuf/timestamp.pb.h>
#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coffer/v1/blob_service.pb.h"
#include "coffer/v1/reference_service.pb.h"
#include "storage/blob_store.h"

namespace coffer {

// The codes are the same numbers; the message is carried over, cut to what fits into trailing metadata.
grpc::Status ToGrpcStatus(const absl::Status& status);

// The failure of one item of a batch, into a message with `code` and `message`.
template <typename Result>
void StatusToWire(const absl::Status& status, Result& out) {
  const grpc::Status converted = ToGrpcStatus(status);
  out.set_code(converted.error_code());
  out.set_message(converted.error_message());
}

// Whether an operator should hear of it: the server or its disk failed, not the client.
bool IsServerFailure(const absl::Status& status);

// INVALID_ARGUMENT with the field, the length seen and 32.
absl::StatusOr<Digest> DigestFromWire(absl::string_view bytes, absl::string_view field);
absl::StatusOr<std::vector<Digest>> DigestsFromWire(const google::protobuf::RepeatedPtrField<std::string>& digests);

// INVALID_ARGUMENT if neither name nor digest is given.
absl::StatusOr<BlobSelector> SelectorFromWire(const v1::BlobSelector& selector);

absl::StatusOr<UploadOptions> UploadOptionsFromWire(const v1::PutHeader& header);

Metadata MetadataFromWire(const google::protobuf::Map<std::string, std::string>& metadata);
void MetadataToWire(const Metadata& metadata, google::protobuf::Map<std::string, std::string>& out);

std::string DigestToWire(const Digest& digest);
google::protobuf::Timestamp TimeToWire(absl::Time time);
v1::Reference ReferenceToWire(const Reference& reference);
v1::Bucket BucketToWire(const Bucket& bucket);
v1::PutResponse PutResultToWire(const PutResult& result);
v1::StatResponse BlobInfoToWire(const BlobInfo& info);
v1::GetHeader GetHeaderToWire(const BlobReader& reader);

}  // namespace coffer
