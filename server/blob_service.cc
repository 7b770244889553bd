// SPDX-License-Identifier: Apache-2.0
#include "server/blob_service.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/get_reactor.h"
#include "server/proto_conversion.h"
#include "server/put_reactor.h"
#include "server/unary_call.h"
#include "server/verify_reactor.h"

namespace coffer {
namespace {

absl::StatusOr<v1::StatResponse> StatBlob(BlobStore& store, const v1::StatRequest& request) {
  absl::StatusOr<BlobSelector> selector = SelectorFromWire(request.blob());
  if (!selector.ok()) return selector.status();
  absl::StatusOr<BlobInfo> info = store.Stat(*selector);
  if (!info.ok()) return info.status();
  return BlobInfoToWire(*info);
}

absl::StatusOr<v1::FindMissingResponse> FindMissingDigests(BlobStore& store, const v1::FindMissingRequest& request) {
  if (request.lease_seconds() != 0) {
    return absl::UnimplementedError(
        absl::StrCat("lease_seconds is ", request.lease_seconds(), ": leases are not built yet, only 0 is allowed"));
  }
  absl::StatusOr<std::vector<Digest>> digests = DigestsFromWire(request.digests());
  if (!digests.ok()) return digests.status();
  absl::StatusOr<std::vector<Digest>> missing = store.FindMissing(*digests);
  if (!missing.ok()) return missing.status();
  v1::FindMissingResponse response;
  for (const Digest& digest : *missing) response.add_missing_digests(DigestToWire(digest));
  return response;
}

}  // namespace

grpc::ServerReadReactor<grpc::ByteBuffer>* BlobService::Put(grpc::CallbackServerContext*, grpc::ByteBuffer* response) {
  return new PutReactor(backend_, response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* BlobService::Get(grpc::CallbackServerContext*,
                                                             const grpc::ByteBuffer* request) {
  return new GetReactor(backend_, *request);
}

grpc::ServerUnaryReactor* BlobService::BatchPut(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                                grpc::ByteBuffer*) {
  return RefuseUnbuilt(context, "BatchPut");
}

grpc::ServerUnaryReactor* BlobService::BatchGet(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                                grpc::ByteBuffer*) {
  return RefuseUnbuilt(context, "BatchGet");
}

grpc::ServerUnaryReactor* BlobService::Stat(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) {
  return RunUnary<v1::StatRequest>(backend_, "Stat", context, request, response,
                                   [&store = backend_.store](const v1::StatRequest& message) {
                                     return StatBlob(store, message);
                                   });
}

grpc::ServerUnaryReactor* BlobService::FindMissing(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return RunUnary<v1::FindMissingRequest>(backend_, "FindMissing", context, request, response,
                                          [&store = backend_.store](const v1::FindMissingRequest& message) {
                                            return FindMissingDigests(store, message);
                                          });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* BlobService::Verify(grpc::CallbackServerContext*,
                                                                const grpc::ByteBuffer* request) {
  return new VerifyReactor(backend_, *request);
}

}  // namespace coffer
