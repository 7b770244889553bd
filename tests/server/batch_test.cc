// SPDX-License-Identifier: Apache-2.0
//
// BlobService.BatchPut and BatchGet: an item's failure is the item's own, and the operator hears of it if the server
// is to blame. What batches store and return is the contract suite's matter.
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/serving_fixture.h"

namespace coffer {
namespace {

using grpc::StatusCode;

class BatchTest : public ServingTest {
 protected:
  v1::BatchGetResponse BatchGet(const std::vector<std::string>& names) {
    v1::BatchGetRequest request;
    for (const std::string& name : names) *request.add_blobs() = ByName(name);
    v1::BatchGetResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(Says(blobs_->BatchGet(&context, request, &response), StatusCode::OK));
    return response;
  }
  v1::BatchPutResponse BatchPut(const std::vector<std::string>& names) {
    v1::BatchPutRequest request;
    for (const std::string& name : names) {
      v1::BatchPutItem& item = *request.add_items();
      *item.mutable_header() = NamedHeader(name);
      item.set_data("content of " + name);
    }
    v1::BatchPutResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(Says(blobs_->BatchPut(&context, request, &response), StatusCode::OK));
    return response;
  }
};

TEST_F(BatchTest, EveryDamagedItemOfAGetIsReported) {
  MustPut("a", RandomBytes(1000, 1));
  MustPut("b", RandomBytes(1000, 2));
  probe_.DamageRow(0);
  const v1::BatchGetResponse response = BatchGet({"a", "absent", "b"});
  ASSERT_EQ(response.results_size(), 3);
  EXPECT_EQ(response.results(0).code(), StatusCode::DATA_LOSS);
  EXPECT_EQ(response.results(1).code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(response.results(2).code(), StatusCode::DATA_LOSS);
  const std::vector<absl::Status> reported = failures();
  ASSERT_EQ(reported.size(), 2u);
  EXPECT_EQ(reported[0].code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(reported[0].message()), ::testing::HasSubstr(DigestOf(RandomBytes(1000, 1)).ToHex()));
  EXPECT_THAT(std::string(reported[1].message()), ::testing::HasSubstr(DigestOf(RandomBytes(1000, 2)).ToHex()));
}

TEST_F(BatchTest, EveryItemThatCannotBeWrittenIsReported) {
  probe_.FailPublishAll(absl::InternalError("the disk is on fire"));
  const v1::BatchPutResponse response = BatchPut({"a", "", std::string(2000, 'n'), "b"});
  ASSERT_EQ(response.results_size(), 4);
  EXPECT_EQ(response.results(0).code(), StatusCode::INTERNAL);
  EXPECT_EQ(response.results(2).code(), StatusCode::INVALID_ARGUMENT);
  const std::vector<absl::Status> reported = failures();
  ASSERT_EQ(reported.size(), 3u);
  for (const absl::Status& status : reported) EXPECT_EQ(status.message(), "the disk is on fire");
}

TEST_F(BatchTest, WhatTheClientDidWrongIsNotReported) {
  BatchPut({std::string(2000, 'n')});
  BatchGet({"absent", ""});
  EXPECT_TRUE(failures().empty());
}

TEST_F(BatchTest, TooManyItemsAreRefusedBeforeTheyCostAnything) {
  const auto refused = [this](const std::string& wire) {
    // Two bytes an empty item on the wire.
    grpc::GenericStub stub(channel_);
    grpc::ByteBuffer request(std::vector<grpc::Slice>{grpc::Slice(wire)}.data(), 1);
    grpc::ByteBuffer response;
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    auto call = stub.PrepareUnaryCall(&context, "/coffer.v1.BlobService/BatchPut", request, &queue);
    grpc::Status status;
    call->StartCall();
    call->Finish(&response, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return status;
  };
  std::string wire;
  for (int i = 0; i < 1025; ++i) wire += std::string("\x0a\x00", 2);
  EXPECT_TRUE(Says(refused(wire), StatusCode::INVALID_ARGUMENT, {"1025", "1024"}));
  while (wire.size() < (4 << 20) - 4096) wire += wire.substr(0, std::min(wire.size(), (4 << 20) - 4096 - wire.size()));
  EXPECT_TRUE(Says(refused(wire), StatusCode::INVALID_ARGUMENT, {"300000", "fields"}));
}

}  // namespace
}  // namespace coffer
