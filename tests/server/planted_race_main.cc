// SPDX-License-Identifier: Apache-2.0
//
// A server whose reactor counts its calls without a lock, and clients that make it race. planted_race_test runs
// it under the thread sanitizer, with the suppressions that all tests use, and expects a report.
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "coffer/v1/admin_service.grpc.pb.h"

namespace coffer {
namespace {

class RacyReactor final : public grpc::ServerUnaryReactor {
 public:
  explicit RacyReactor(int& calls) : calls_(calls) { Finish(grpc::Status::OK); }
  void OnDone() override {
    ++calls_;
    delete this;
  }

 private:
  int& calls_;
};

class RacyService final : public v1::AdminService::WithRawCallbackMethod_Status<v1::AdminService::Service> {
 public:
  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext*, const grpc::ByteBuffer*,
                                   grpc::ByteBuffer* response) override {
    const grpc::Slice empty;
    *response = grpc::ByteBuffer(&empty, 1);
    return new RacyReactor(calls_);
  }

 private:
  int calls_ = 0;
};

void Race() {
  RacyService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([port] {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      const auto stub = v1::AdminService::NewStub(grpc::CreateCustomChannel(
          "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments));
      for (int call = 0; call < 200; ++call) {
        grpc::ClientContext context;
        v1::StatusResponse response;
        stub->Status(&context, {}, &response);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
}

}  // namespace
}  // namespace coffer

int main() {
  coffer::Race();
  std::puts("ended");
  return 0;
}
