// SPDX-License-Identifier: Apache-2.0
//
// The one place where the server is wired together; cofferd and the tests start it from here.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/admission.h"
#include "server/backend.h"
#include "server/listen_address.h"
#include "server/store_pool.h"
#include "storage/blob_store.h"

namespace coffer {

class BlobService;
class ReferenceService;
class AdminService;

struct ServerOptions {
  // Port 0 takes any free one. In plain text: who may connect may do anything.
  ListenAddress listen;
  Admission::Limits limits;
  size_t store_threads = StorePool::kThreads;
  FailureReport report_failure = [](absl::string_view, const absl::Status&) {};
};

class Server {
 public:
  // What the store's largest request needs: 1 MiB of data or 32,768 digests, and batches of 3 MiB.
  static constexpr int kMaxReceiveBytes = 4 << 20;
  // How long streams have to leave after the drain before their connections are closed.
  static constexpr absl::Duration kHangUpTime = absl::Seconds(1);

  // Serves `store`, which it borrows, when it returns. FAILED_PRECONDITION if it cannot listen there, with the
  // address and the reason.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options, BlobStore& store);

  // As Shutdown with no time to wait.
  ~Server();

  // The real port; 0 for a unix socket.
  int port() const { return port_; }

  // Stops, in this order; the second call and later ones do nothing:
  //   1. health answers NOT_SERVING and new calls get UNAVAILABLE;
  //   2. running calls may end by themselves until `deadline`;
  //   3. the others are cut off, which their clients see as UNAVAILABLE, and free what they held;
  //   4. returns when the last store call has come back.
  // A call that arrives between 2 and the close of its connection may get CANCELLED instead: gRPC 1.51 does so,
  // before any code of ours sees the call.
  void Shutdown(absl::Time deadline);

 private:
  Server(ServerOptions options, BlobStore& store);
  absl::Status Listen(const ListenAddress& address);

  Admission admission_;
  StorePool pool_;
  Backend backend_;
  const std::unique_ptr<BlobService> blob_service_;
  const std::unique_ptr<ReferenceService> reference_service_;
  const std::unique_ptr<AdminService> admin_service_;
  std::unique_ptr<grpc::Server> grpc_server_;
  int port_ = 0;
};

}  // namespace coffer
