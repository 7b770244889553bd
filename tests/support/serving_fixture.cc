// SPDX-License-Identifier: Apache-2.0
#include "tests/support/serving_fixture.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/memory/memory_engine.h"

namespace coffer {

::testing::AssertionResult Says(const grpc::Status& status, grpc::StatusCode code,
                                const std::vector<std::string>& parts) {
  const std::string seen = absl::StrCat("status ", status.error_code(), " \"", status.error_message(), "\"");
  if (status.error_code() != code) {
    return ::testing::AssertionFailure() << seen << ", expected code " << static_cast<int>(code);
  }
  for (const std::string& part : parts) {
    if (status.error_message().find(part) == std::string::npos) {
      return ::testing::AssertionFailure() << seen << " does not say \"" << part << "\"";
    }
  }
  return ::testing::AssertionSuccess() << seen;
}

std::string WireDigestOf(const std::string& content) { return std::string(DigestOf(content).view()); }

std::string HexOf(const std::string& wire_digest) { return absl::BytesToHexString(wire_digest); }

ServingTest::ServingTest(Admission::Limits limits) {
  store_ = std::make_unique<BlobStore>(NewProbeEngine(NewMemoryEngine(), probe_),
                                       BlobStore::Options{.grace = absl::ZeroDuration()});
  ServerOptions options;
  options.limits = limits;
  options.store_threads = 8;
  options.report_failure = [this](absl::string_view, const absl::Status& status) {
    const std::lock_guard lock(failures_mutex_);
    failures_.push_back(status);
  };
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(std::move(options), *store_);
  EXPECT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  channel_ = NewChannel();
  blobs_ = v1::BlobService::NewStub(channel_);
  references_ = v1::ReferenceService::NewStub(channel_);
  admin_ = v1::AdminService::NewStub(channel_);
}

ServingTest::~ServingTest() {
  probe_.ReleasePublishes();
  server_->Shutdown(absl::Now());
}

std::shared_ptr<grpc::Channel> ServingTest::NewChannel(const grpc::ChannelArguments& arguments) const {
  grpc::ChannelArguments own = arguments;
  // Each channel gets a connection of its own.
  own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_->port()), grpc::InsecureChannelCredentials(),
                                   own);
}

grpc::Status ServingTest::PutMessages(const std::vector<v1::PutRequest>& messages, v1::PutResponse* response) {
  grpc::ClientContext context;
  auto writer = blobs_->Put(&context, response);
  for (const v1::PutRequest& message : messages) {
    if (!writer->Write(message)) break;
  }
  writer->WritesDone();
  return writer->Finish();
}

grpc::Status ServingTest::Put(const v1::PutHeader& header, const std::string& bytes, v1::PutResponse* response) {
  constexpr size_t kPieceBytes = 300'001;  // not aligned to anything
  std::vector<v1::PutRequest> messages = {HeaderMessage(header)};
  for (size_t at = 0; at < bytes.size(); at += kPieceBytes)
    messages.push_back(DataMessage(bytes.substr(at, kPieceBytes)));
  if (!header.has_size_bytes() && header.expected_digest().empty()) messages.push_back(EndMessage(bytes.size()));
  return PutMessages(messages, response);
}

v1::PutResponse ServingTest::MustPut(const std::string& name, const std::string& bytes, const std::string& bucket) {
  v1::PutResponse response;
  const grpc::Status status = Put(NamedHeader(name, bucket), bytes, &response);
  EXPECT_TRUE(Says(status, grpc::StatusCode::OK));
  return response;
}

ServingTest::Got ServingTest::Get(const v1::GetRequest& request) {
  Got got;
  grpc::ClientContext context;
  auto reader = blobs_->Get(&context, request);
  for (v1::GetResponse message; reader->Read(&message);) {
    if (message.has_header()) {
      EXPECT_FALSE(got.has_header) << "a second header";
      EXPECT_EQ(got.bytes, "") << "data before the header";
      got.has_header = true;
      got.header = message.header();
    } else {
      got.bytes += message.data();
      got.largest_message_bytes = std::max(got.largest_message_bytes, message.data().size());
    }
  }
  got.status = reader->Finish();
  return got;
}

ServingTest::Got ServingTest::GetByName(const std::string& name, uint64_t offset_bytes, uint64_t length_bytes) {
  v1::GetRequest request;
  *request.mutable_blob() = ByName(name);
  request.set_offset_bytes(offset_bytes);
  request.set_length_bytes(length_bytes);
  return Get(request);
}

v1::StatusResponse ServingTest::ServerStatus() {
  grpc::ClientContext context;
  v1::StatusResponse response;
  EXPECT_TRUE(admin_->Status(&context, {}, &response).ok());
  return response;
}

std::vector<absl::Status> ServingTest::failures() const {
  const std::lock_guard lock(failures_mutex_);
  return failures_;
}

v1::PutRequest HeaderMessage(const v1::PutHeader& header) {
  v1::PutRequest message;
  *message.mutable_header() = header;
  return message;
}

v1::PutRequest DataMessage(const std::string& bytes) {
  v1::PutRequest message;
  message.set_data(bytes);
  return message;
}

v1::PutRequest EndMessage(uint64_t size_bytes) {
  v1::PutRequest message;
  message.mutable_end()->set_size_bytes(size_bytes);
  return message;
}

v1::PutHeader NamedHeader(const std::string& name, const std::string& bucket) {
  v1::PutHeader header;
  header.set_bucket(bucket);
  header.set_name(name);
  return header;
}

v1::BlobSelector ByName(const std::string& name, const std::string& bucket) {
  v1::BlobSelector selector;
  selector.set_bucket(bucket);
  selector.set_name(name);
  return selector;
}

v1::BlobSelector ByDigest(const std::string& digest) {
  v1::BlobSelector selector;
  selector.set_digest(digest);
  return selector;
}

}  // namespace coffer
