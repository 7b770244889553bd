// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/admin_service.h"
#include "server/blob_service.h"
#include "server/reference_service.h"

namespace coffer {
namespace {

// Clients may ping every 10 seconds; the margin is for pings that bunch up on the way.
constexpr int kMinPingIntervalMs = 5'000;
// A peer that vanished without a word is found out, and its upload's staging freed, within these two.
constexpr int kKeepaliveTimeMs = 60'000;
constexpr int kKeepaliveTimeoutMs = 20'000;
// Streams of one connection; clients queue the others. No single connection can fill Admission.
constexpr int kMaxStreamsPerConnection = 1'000;
// Threads for reflection, which gRPC serves with blocking threads. It is asked by people.
constexpr int kMaxBlockingThreads = 8;

void Configure(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(Server::kMaxReceiveBytes);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second server on the port is an error
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveTimeMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  // The receive limit holds before decompression only, so what is compressed is refused with UNIMPLEMENTED.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  grpc::ResourceQuota quota("coffer");
  quota.SetMaxThreads(kMaxBlockingThreads);
  builder.SetResourceQuota(quota);
}

}  // namespace

Server::Server(ServerOptions options, BlobStore& store)
    : admission_(options.limits),
      pool_(options.store_threads),
      backend_{store, pool_, admission_, std::move(options.report_failure), absl::Now()},
      blob_service_(std::make_unique<BlobService>(backend_)),
      reference_service_(std::make_unique<ReferenceService>(backend_)),
      admin_service_(std::make_unique<AdminService>(backend_)) {}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(ServerOptions options, BlobStore& store) {
  const ListenAddress address = options.listen;
  std::unique_ptr<Server> server(new Server(std::move(options), store));
  if (absl::Status status = server->Listen(address); !status.ok()) return status;
  return server;
}

absl::Status Server::Listen(const ListenAddress& address) {
  if (absl::Status status = address.CheckUnused(); !status.ok()) return status;
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  Configure(builder);
  int port = 0;
  builder.AddListeningPort(address.ToString(), grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(blob_service_.get());
  builder.RegisterService(reference_service_.get());
  builder.RegisterService(admin_service_.get());
  grpc_server_ = builder.BuildAndStart();
  if (grpc_server_ == nullptr || port == 0) {
    return absl::FailedPreconditionError(absl::StrCat("cannot listen on ", address.ToString()));
  }
  if (!address.is_unix()) port_ = port;
  grpc_server_->GetHealthCheckService()->SetServingStatus(true);
  return absl::OkStatus();
}

Server::~Server() { Shutdown(absl::Now()); }

void Server::Shutdown(absl::Time deadline) {
  if (grpc_server_ == nullptr) return;
  admission_.Close();
  grpc_server_->GetHealthCheckService()->SetServingStatus(false);
  admission_.WaitUntilIdle(deadline);
  // Cuts off what still runs at its own deadline, and waits for all reactions.
  grpc_server_->Shutdown(absl::ToChronoTime(absl::Now() + kHangUpTime));
  grpc_server_->Wait();
  pool_.Join();
  grpc_server_.reset();
}

}  // namespace coffer
