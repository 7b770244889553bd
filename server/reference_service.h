// SPDX-License-Identifier: Apache-2.0
//
// coffer.v1.ReferenceService: names and buckets.
#pragma once

#include <grpcpp/grpcpp.h>

#include "coffer/v1/reference_service.grpc.pb.h"
#include "server/backend.h"

namespace coffer {

// Keeps a page below the 4 MiB that clients accept: their default limit less room for one more reference, the
// cursor and the frame.
inline constexpr size_t kMaxPageBytes = (size_t{4} << 20) - (size_t{64} << 10);

// clang-format off
using RawReferenceService =
    v1::ReferenceService::WithRawCallbackMethod_Bind<
    v1::ReferenceService::WithRawCallbackMethod_Resolve<
    v1::ReferenceService::WithRawCallbackMethod_List<
    v1::ReferenceService::WithRawCallbackMethod_Delete<
    v1::ReferenceService::WithRawCallbackMethod_CreateBucket<
    v1::ReferenceService::WithRawCallbackMethod_ListBuckets<
    v1::ReferenceService::WithRawCallbackMethod_DeleteBucket<
    v1::ReferenceService::WithRawCallbackMethod_Lease<v1::ReferenceService::Service>>>>>>>>;
// clang-format on

class ReferenceService final : public RawReferenceService {
 public:
  explicit ReferenceService(Backend& backend) : backend_(backend) {}

  grpc::ServerUnaryReactor* Bind(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Resolve(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Delete(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* CreateBucket(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListBuckets(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* DeleteBucket(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Lease(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;

 private:
  Backend& backend_;
};

}  // namespace coffer
