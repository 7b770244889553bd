// SPDX-License-Identifier: Apache-2.0
//
// A server for tests of the client: keeps everything in memory, and lies and fails as it is told to. Not a model
// of cofferd: it checks next to nothing.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "coffer/v1/admin_service.grpc.pb.h"
#include "coffer/v1/blob_service.grpc.pb.h"
#include "coffer/v1/reference_service.grpc.pb.h"
#include "hashing/digest.h"

namespace coffer::testing {

// What goes wrong. Set before the calls that it is for.
struct Faults {
  // Called first in every RPC with its name ("Put", "List"); not OK fails the call.
  std::function<grpc::Status(const std::string& rpc)> before;
  // May change each message of a Get before it is sent; false ends the stream there, with `get_status`.
  std::function<bool(v1::GetResponse&)> get_message;
  grpc::Status get_status;
  // May change the answer of a Put.
  std::function<void(v1::PutResponse&)> put_answer;
  // Called for each message of a Put after the header; not OK ends the call.
  std::function<grpc::Status()> put_message;
  // What Verify finds.
  std::vector<v1::VerifyFinding> findings;
  bool verify_says_done = true;
  // References a page, if smaller than asked for.
  uint32_t page_size = 1000;
};

class FakeServer : public v1::BlobService::Service,
                   public v1::ReferenceService::Service,
                   public v1::AdminService::Service {
 public:
  // Listens on a free port of the loopback, or on `address`.
  explicit FakeServer(const std::string& address = "127.0.0.1:0");
  ~FakeServer() override;

  const std::string& address() const { return address_; }
  Faults& faults() { return faults_; }

  // Stores without a call.
  Digest Add(const std::string& name, const std::string& content, const std::string& bucket = "default");
  // Names of a bucket; empty if there is none.
  std::vector<std::string> Names(const std::string& bucket = "default");
  // Content of a name; "(missing)" if there is none.
  std::string Content(const std::string& name, const std::string& bucket = "default");
  // How often an RPC was called.
  int Calls(const std::string& rpc);
  // The header of the last Put.
  v1::PutHeader last_put_header();

  grpc::Status Put(grpc::ServerContext*, grpc::ServerReader<v1::PutRequest>*, v1::PutResponse*) override;
  grpc::Status Get(grpc::ServerContext*, const v1::GetRequest*, grpc::ServerWriter<v1::GetResponse>*) override;
  grpc::Status Stat(grpc::ServerContext*, const v1::StatRequest*, v1::StatResponse*) override;
  grpc::Status FindMissing(grpc::ServerContext*, const v1::FindMissingRequest*, v1::FindMissingResponse*) override;
  grpc::Status Verify(grpc::ServerContext*, const v1::VerifyRequest*, grpc::ServerWriter<v1::VerifyResponse>*) override;
  grpc::Status Bind(grpc::ServerContext*, const v1::BindRequest*, v1::Reference*) override;
  grpc::Status Resolve(grpc::ServerContext*, const v1::ResolveRequest*, v1::Reference*) override;
  grpc::Status List(grpc::ServerContext*, const v1::ListRequest*, v1::ListResponse*) override;
  grpc::Status Delete(grpc::ServerContext*, const v1::DeleteRequest*, v1::DeleteResponse*) override;
  grpc::Status CreateBucket(grpc::ServerContext*, const v1::CreateBucketRequest*, v1::CreateBucketResponse*) override;
  grpc::Status ListBuckets(grpc::ServerContext*, const v1::ListBucketsRequest*, v1::ListBucketsResponse*) override;
  grpc::Status DeleteBucket(grpc::ServerContext*, const v1::DeleteBucketRequest*, v1::DeleteBucketResponse*) override;
  grpc::Status Collect(grpc::ServerContext*, const v1::CollectRequest*, v1::CollectResponse*) override;
  grpc::Status Scrub(grpc::ServerContext*, const v1::ScrubRequest*, v1::ScrubResponse*) override;
  grpc::Status Status(grpc::ServerContext*, const v1::StatusRequest*, v1::StatusResponse*) override;

 private:
  grpc::Status Begin(const std::string& rpc);
  // The reference of a name as the wire has it; nullptr if there is none.
  v1::Reference* Find(const std::string& bucket, const std::string& name);
  grpc::Status Select(const v1::BlobSelector& blob, v1::Reference* found);
  v1::Reference Store(const std::string& bucket, const std::string& name, const std::string& content,
                      const google::protobuf::Map<std::string, std::string>& metadata);

  Faults faults_;
  std::mutex mutex_;  // guards what follows, and is held when Find, Select and Store are called
  std::map<std::string, std::string> contents_;  // by digest bytes
  std::map<std::string, std::map<std::string, v1::Reference>> buckets_;
  std::map<std::string, int> calls_;
  v1::PutHeader last_put_header_;
  v1::ScrubResponse scrub_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace coffer::testing
