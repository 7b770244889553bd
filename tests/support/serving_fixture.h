// SPDX-License-Identifier: Apache-2.0
//
// The fixture of the server's tests: a server on port 0 over the memory engine, a channel of its own, and the
// few calls that most tests need.
#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "coffer/v1/admin_service.grpc.pb.h"
#include "coffer/v1/blob_service.grpc.pb.h"
#include "coffer/v1/reference_service.grpc.pb.h"
#include "server/server.h"
#include "storage/blob_store.h"
#include "tests/support/probe_engine.h"
#include "tests/support/samples.h"

namespace coffer {

// Matches a grpc::Status of `code` whose message contains every one of `parts`.
::testing::AssertionResult Says(const grpc::Status& status, grpc::StatusCode code,
                                const std::vector<std::string>& parts = {});

// The digest of `content` as it travels, in 32 bytes, and such a one in hex.
std::string WireDigestOf(const std::string& content);
std::string HexOf(const std::string& wire_digest);

// Polls until `condition` holds; false after 20 seconds.
template <typename Condition>
bool Eventually(Condition condition) {
  for (const absl::Time end = absl::Now() + absl::Seconds(20); absl::Now() < end;) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return condition();
}

class ServingTest : public ::testing::Test {
 protected:
  explicit ServingTest(Admission::Limits limits = {});
  ~ServingTest() override;

  std::shared_ptr<grpc::Channel> NewChannel(const grpc::ChannelArguments& arguments = {}) const;

  // Sends exactly `messages`, then half-closes.
  grpc::Status PutMessages(const std::vector<v1::PutRequest>& messages, v1::PutResponse* response);
  grpc::Status Put(const v1::PutHeader& header, const std::string& bytes, v1::PutResponse* response);
  // Puts under `name`, which must work.
  v1::PutResponse MustPut(const std::string& name, const std::string& bytes, const std::string& bucket = "");

  struct Got {
    grpc::Status status;
    bool has_header = false;
    v1::GetHeader header;
    std::string bytes;
    size_t largest_message_bytes = 0;
  };
  Got Get(const v1::GetRequest& request);
  Got GetByName(const std::string& name, uint64_t offset_bytes = 0, uint64_t length_bytes = 0);

  v1::StatusResponse ServerStatus();

  Probe probe_;
  std::vector<absl::Status> failures() const;
  std::unique_ptr<BlobStore> store_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::BlobService::Stub> blobs_;
  std::unique_ptr<v1::ReferenceService::Stub> references_;
  std::unique_ptr<v1::AdminService::Stub> admin_;

 private:
  mutable std::mutex failures_mutex_;
  std::vector<absl::Status> failures_;
};

v1::PutRequest HeaderMessage(const v1::PutHeader& header);
v1::PutRequest DataMessage(const std::string& bytes);
v1::PutRequest EndMessage(uint64_t size_bytes);
v1::PutHeader NamedHeader(const std::string& name, const std::string& bucket = "");
v1::BlobSelector ByName(const std::string& name, const std::string& bucket = "");
v1::BlobSelector ByDigest(const std::string& digest);

}  // namespace coffer
