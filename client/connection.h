// SPDX-License-Identifier: Apache-2.0
//
// What the parts of Client share: the channel, the stubs, deadlines, retries, and the translation of messages
// between the wire and client.h. Internal to client/: the only header here that includes generated code.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "client/call_watch.h"
#include "client/client.h"
#include "coffer/v1/admin_service.grpc.pb.h"
#include "coffer/v1/blob_service.grpc.pb.h"
#include "coffer/v1/reference_service.grpc.pb.h"

namespace coffer::client {

// Data in one message: what the server expects at most (proto: PutRequest.data).
inline constexpr size_t kMessageBytes = size_t{1} << 20;

class Connection {
 public:
  Connection(const std::string& server, const ClientOptions& options);

  v1::BlobService::Stub& blobs() { return *blobs_; }
  v1::ReferenceService::Stub& references() { return *references_; }
  v1::AdminService::Stub& admin() { return *admin_; }
  CallWatch& watch() { return watch_; }

  // One try of a call.
  struct Call {
    explicit Call(Connection& connection) : guard(connection.watch_, context) {}
    grpc::ClientContext context;
    CallWatch::Guard guard;
  };

  // A call without a stream: `call(context)` is made within the deadline, UNAVAILABLE is retried.
  absl::Status Unary(absl::FunctionRef<grpc::Status(grpc::ClientContext*)> call);

  // A call with a stream: `attempt` is made again after UNAVAILABLE if `may_repeat` says so.
  absl::Status Streaming(absl::FunctionRef<absl::Status()> attempt, absl::FunctionRef<bool()> may_repeat);

  // The status of a call that ended: the server's, or why this side ended it.
  absl::Status ToStatus(const grpc::Status& status, const Call& call) const;

 private:
  const std::string server_;
  const ClientOptions options_;
  CallWatch watch_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::BlobService::Stub> blobs_;
  std::unique_ptr<v1::ReferenceService::Stub> references_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

// INVALID_ARGUMENT if `text` is not UTF-8, which protobuf cannot carry; `what` says what it is.
absl::Status CheckUtf8(absl::string_view what, absl::string_view text);

// The digest of an answer. DATA_LOSS if it has not 32 bytes.
absl::StatusOr<Digest> DigestOfAnswer(const std::string& bytes);

absl::Status FillSelector(const Selector& from, v1::BlobSelector* to);
absl::Status FillMetadata(const Metadata& from, google::protobuf::Map<std::string, std::string>* to);
Metadata MetadataOfAnswer(const google::protobuf::Map<std::string, std::string>& from);
absl::Time TimeOfAnswer(const google::protobuf::Timestamp& from);

// "NAME" or the digest, for messages.
std::string Describe(const Selector& blob);

}  // namespace coffer::client
