// SPDX-License-Identifier: Apache-2.0
//
// coffer.v1.AdminService: what an operator asks.
#pragma once

#include <grpcpp/grpcpp.h>

#include "coffer/v1/admin_service.grpc.pb.h"
#include "server/backend.h"

namespace coffer {

// clang-format off
using RawAdminService =
    v1::AdminService::WithRawCallbackMethod_Status<
    v1::AdminService::WithRawCallbackMethod_Scrub<
    v1::AdminService::WithRawCallbackMethod_Collect<
    v1::AdminService::WithRawCallbackMethod_Backup<v1::AdminService::Service>>>>;
// clang-format on

class AdminService final : public RawAdminService {
 public:
  explicit AdminService(Backend& backend) : backend_(backend) {}

  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Scrub(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Collect(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Backup(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;

 private:
  Backend& backend_;
};

}  // namespace coffer
