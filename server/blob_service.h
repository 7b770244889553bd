// SPDX-License-Identifier: Apache-2.0
//
// coffer.v1.BlobService: content. Every method takes raw buffers (message_buffer.h says why); the streams are
// in put_reactor, get_reactor and verify_reactor.
#pragma once

#include <grpcpp/grpcpp.h>

#include "coffer/v1/blob_service.grpc.pb.h"
#include "server/backend.h"

namespace coffer {

// clang-format off
using RawBlobService =
    v1::BlobService::WithRawCallbackMethod_Put<
    v1::BlobService::WithRawCallbackMethod_Get<
    v1::BlobService::WithRawCallbackMethod_BatchPut<
    v1::BlobService::WithRawCallbackMethod_BatchGet<
    v1::BlobService::WithRawCallbackMethod_Stat<
    v1::BlobService::WithRawCallbackMethod_FindMissing<
    v1::BlobService::WithRawCallbackMethod_Verify<v1::BlobService::Service>>>>>>>;
// clang-format on

class BlobService final : public RawBlobService {
 public:
  explicit BlobService(Backend& backend) : backend_(backend) {}

  grpc::ServerReadReactor<grpc::ByteBuffer>* Put(grpc::CallbackServerContext* context,
                                                 grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Get(grpc::CallbackServerContext* context,
                                                  const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* BatchPut(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* BatchGet(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Stat(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* FindMissing(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Verify(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request) override;

 private:
  Backend& backend_;
};

}  // namespace coffer
