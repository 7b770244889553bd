// SPDX-License-Identifier: Apache-2.0
//
// BlobService.Get, Stat, FindMissing and Verify: what comes out, and what never does.
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/support/serving_fixture.h"

namespace coffer {
namespace {

using grpc::StatusCode;
using GetTest = ServingTest;

TEST_F(GetTest, SendsTheHeaderAndPiecesOfAtMostAMebibyte) {
  const std::string bytes = RandomBytes(3'000'000);
  v1::PutHeader header = NamedHeader("n");
  (*header.mutable_metadata())["Content-Type"] = "text/plain";
  v1::PutResponse response;
  ASSERT_TRUE(Says(Put(header, bytes, &response), StatusCode::OK));
  const Got got = GetByName("n");
  EXPECT_TRUE(Says(got.status, StatusCode::OK));
  EXPECT_TRUE(got.bytes == bytes);
  EXPECT_LE(got.largest_message_bytes, size_t{1} << 20);
  EXPECT_EQ(got.header.digest(), response.digest());
  EXPECT_EQ(got.header.size_bytes(), bytes.size());
  EXPECT_EQ(got.header.length_bytes(), bytes.size());
  EXPECT_EQ(got.header.metadata().at("content-type"), "text/plain");
}

TEST_F(GetTest, ServesByDigestWithoutMetadata) {
  const v1::PutResponse response = MustPut("n", "content");
  v1::GetRequest request;
  *request.mutable_blob() = ByDigest(response.digest());
  const Got got = Get(request);
  EXPECT_TRUE(Says(got.status, StatusCode::OK));
  EXPECT_EQ(got.bytes, "content");
  EXPECT_TRUE(got.header.metadata().empty());
}

TEST_F(GetTest, ServesRanges) {
  const std::string bytes = RandomBytes(2'500'000);
  MustPut("n", bytes);
  for (const auto& [offset, length, expected] :
       std::vector<std::tuple<uint64_t, uint64_t, uint64_t>>{{0, 1, 1},
                                                             {16384, 16384, 16384},
                                                             {1'000'001, 0, 1'499'999},
                                                             {2'499'999, 5, 1},
                                                             {2'500'000, 0, 0},
                                                             {65535, 1'048'577, 1'048'577}}) {
    const Got got = GetByName("n", offset, length);
    EXPECT_TRUE(Says(got.status, StatusCode::OK)) << offset << " + " << length;
    EXPECT_TRUE(got.bytes == bytes.substr(offset, expected)) << offset << " + " << length;
    EXPECT_EQ(got.header.offset_bytes(), offset);
    EXPECT_EQ(got.header.length_bytes(), expected);
    EXPECT_EQ(got.header.size_bytes(), bytes.size());
  }
  EXPECT_TRUE(Says(GetByName("n", 2'500'001, 0).status, StatusCode::INVALID_ARGUMENT, {"2500001", "2500000"}));
}

TEST_F(GetTest, ServesTheEmptyBlob) {
  MustPut("n", "");
  const Got got = GetByName("n");
  EXPECT_TRUE(Says(got.status, StatusCode::OK));
  EXPECT_TRUE(got.has_header);
  EXPECT_EQ(got.header.size_bytes(), 0u);
}

TEST_F(GetTest, RefusesBadSelectors) {
  EXPECT_TRUE(Says(Get({}).status, StatusCode::INVALID_ARGUMENT, {"neither a name nor a digest"}));
  EXPECT_TRUE(Says(GetByName("").status, StatusCode::INVALID_ARGUMENT, {"name"}));
  EXPECT_TRUE(Says(GetByName("a\xff").status, StatusCode::INVALID_ARGUMENT, {"name \"a\\xff\"", "UTF-8"}));
  EXPECT_TRUE(Says(GetByName("absent").status, StatusCode::NOT_FOUND, {"bucket \"default\""}));
  MustPut("n", "content");
  EXPECT_TRUE(Says(GetByName("absent").status, StatusCode::NOT_FOUND, {"absent"}));
  v1::GetRequest request;
  *request.mutable_blob() = ByDigest(std::string(31, 'd'));
  EXPECT_TRUE(Says(Get(request).status, StatusCode::INVALID_ARGUMENT, {"digest", "31", "32"}));
  *request.mutable_blob() = ByDigest(WireDigestOf("absent"));
  EXPECT_TRUE(Says(Get(request).status, StatusCode::NOT_FOUND, {DigestOf("absent").ToHex()}));
  *request.mutable_blob() = ByName("n");
  request.set_proof(true);
  EXPECT_TRUE(Says(Get(request).status, StatusCode::UNIMPLEMENTED, {"proof"}));
}

TEST_F(GetTest, DamageInTheFirstPieceSendsNothing) {
  MustPut("n", RandomBytes(3 << 20));
  probe_.DamageRow(0);
  const Got got = GetByName("n");
  EXPECT_TRUE(Says(got.status, StatusCode::DATA_LOSS, {DigestOf(RandomBytes(3 << 20)).ToHex()}));
  EXPECT_FALSE(got.has_header);
  EXPECT_EQ(got.bytes, "");
  EXPECT_EQ(failures().size(), 1u);
}

TEST_F(GetTest, LaterDamageEndsTheStreamBeforeAWrongByte) {
  const std::string bytes = RandomBytes(3 << 20);
  MustPut("n", bytes);
  probe_.DamageRow(40);  // 2.5 MiB
  const Got got = GetByName("n");
  EXPECT_TRUE(Says(got.status, StatusCode::DATA_LOSS, {DigestOf(bytes).ToHex()}));
  EXPECT_TRUE(got.bytes == bytes.substr(0, got.bytes.size()));
  EXPECT_EQ(got.bytes.size(), 2u << 20);
}

TEST_F(GetTest, ASlowReaderStopsTheReading) {
  constexpr size_t kSizeBytes = 48 << 20;
  const std::string bytes = RandomBytes(kSizeBytes);
  MustPut("n", bytes);
  const uint64_t before = probe_.read_bytes();
  grpc::ClientContext context;
  v1::GetRequest request;
  *request.mutable_blob() = ByName("n");
  auto reader = blobs_->Get(&context, request);
  v1::GetResponse message;
  ASSERT_TRUE(reader->Read(&message));
  absl::SleepFor(absl::Milliseconds(700));
  // The piece in flight, the next one, and what the windows of HTTP/2 and TCP hold.
  EXPECT_LT(probe_.read_bytes() - before, uint64_t{12} << 20);
  std::string got;
  while (reader->Read(&message)) got += message.data();
  EXPECT_TRUE(Says(reader->Finish(), StatusCode::OK));
  EXPECT_TRUE(got == bytes);
}

TEST_F(GetTest, StreamsClosedUnreadLeakNothing) {
  MustPut("n", RandomBytes(4 << 20));
  v1::GetRequest request;
  *request.mutable_blob() = ByName("n");
  for (int i = 0; i < 256; ++i) {
    grpc::ClientContext context;
    auto reader = blobs_->Get(&context, request);
    v1::GetResponse message;
    if (i % 2 == 0) reader->Read(&message);
    context.TryCancel();
    reader->Finish();
  }
  EXPECT_TRUE(Says(GetByName("n").status, StatusCode::OK));
  // Shutdown returns at once only if no stream is left.
  const absl::Time start = absl::Now();
  server_->Shutdown(absl::Now() + absl::Seconds(30));
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
}

TEST_F(GetTest, AReadThatRacesADeleteIsWhole) {
  const std::string bytes = RandomBytes(8 << 20);
  MustPut("n", bytes);
  grpc::ClientContext context;
  v1::GetRequest request;
  *request.mutable_blob() = ByName("n");
  auto reader = blobs_->Get(&context, request);
  v1::GetResponse message;
  ASSERT_TRUE(reader->Read(&message));
  grpc::ClientContext delete_context;
  v1::DeleteBucketRequest delete_request;
  delete_request.set_bucket("default");
  v1::DeleteBucketResponse delete_response;
  ASSERT_TRUE(Says(references_->DeleteBucket(&delete_context, delete_request, &delete_response), StatusCode::OK));
  std::string got;
  while (reader->Read(&message)) got += message.data();
  EXPECT_TRUE(Says(reader->Finish(), StatusCode::OK));
  EXPECT_TRUE(got == bytes);
}

TEST_F(GetTest, StatTellsTheReference) {
  v1::PutHeader header = NamedHeader("n");
  (*header.mutable_metadata())["k"] = "v";
  v1::PutResponse put;
  ASSERT_TRUE(Put(header, "content", &put).ok());
  v1::StatRequest request;
  v1::StatResponse response;
  *request.mutable_blob() = ByName("n");
  {
    grpc::ClientContext context;
    ASSERT_TRUE(Says(blobs_->Stat(&context, request, &response), StatusCode::OK));
  }
  EXPECT_EQ(response.digest(), put.digest());
  EXPECT_EQ(response.size_bytes(), 7u);
  EXPECT_EQ(response.name(), "n");
  EXPECT_EQ(response.metadata().at("k"), "v");
  EXPECT_GT(response.created().seconds(), 1'700'000'000);
  *request.mutable_blob() = ByDigest(put.digest());
  {
    grpc::ClientContext context;
    ASSERT_TRUE(Says(blobs_->Stat(&context, request, &response), StatusCode::OK));
  }
  EXPECT_EQ(response.name(), "");
  EXPECT_FALSE(response.has_created());
  *request.mutable_blob() = ByName("n", "other");
  grpc::ClientContext context;
  EXPECT_TRUE(Says(blobs_->Stat(&context, request, &response), StatusCode::NOT_FOUND, {"other"}));
}

TEST_F(GetTest, FindMissingAnswersInOrderAndOnce) {
  MustPut("n", "here");
  v1::FindMissingRequest request;
  for (const char* content : {"z", "here", "a", "z"}) request.add_digests(WireDigestOf(content));
  v1::FindMissingResponse response;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(Says(blobs_->FindMissing(&context, request, &response), StatusCode::OK));
  }
  EXPECT_THAT(response.missing_digests(), ::testing::ElementsAre(WireDigestOf("z"), WireDigestOf("a")));
  request.add_digests("short");
  {
    grpc::ClientContext context;
    EXPECT_TRUE(Says(blobs_->FindMissing(&context, request, &response), StatusCode::INVALID_ARGUMENT,
                     {"digests[4]", "5", "32"}));
  }
  request.Clear();
  for (int i = 0; i < 32769; ++i) request.add_digests(std::string(32, 'd'));
  {
    grpc::ClientContext context;
    EXPECT_TRUE(
        Says(blobs_->FindMissing(&context, request, &response), StatusCode::INVALID_ARGUMENT, {"32769", "32768"}));
  }
  request.Clear();
  request.set_lease_seconds(604'801);
  grpc::ClientContext context;
  EXPECT_TRUE(Says(blobs_->FindMissing(&context, request, &response), StatusCode::INVALID_ARGUMENT, {"604801"}));
}

TEST_F(GetTest, FindMissingLeasesWhatIsThere) {
  const v1::PutResponse put = MustPut("n", "content");
  v1::FindMissingRequest request;
  request.add_digests(put.digest());
  request.add_digests(std::string(32, 'd'));
  request.set_lease_seconds(100);
  v1::FindMissingResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(Says(blobs_->FindMissing(&context, request, &response), StatusCode::OK));
  ASSERT_EQ(response.missing_digests_size(), 1);
  EXPECT_EQ(response.missing_digests(0), std::string(32, 'd'));
  ASSERT_TRUE(store_->Delete("", {"n"}).ok());
  EXPECT_EQ(store_->Collect(false)->blobs, 0u);
}

class VerifyTest : public ServingTest {
 protected:
  VerifyTest() : ServingTest({.calls = 64, .verifies = 1}) {}

  struct Verified {
    grpc::Status status;
    std::vector<v1::VerifyFinding> findings;
    v1::VerifyProgress last;
  };
  Verified Verify(const v1::VerifyRequest& request) {
    Verified result;
    grpc::ClientContext context;
    auto reader = blobs_->Verify(&context, request);
    for (v1::VerifyResponse message; reader->Read(&message);) {
      EXPECT_FALSE(result.last.done()) << "a message after the last";
      if (message.has_finding()) result.findings.push_back(message.finding());
      if (message.has_progress()) result.last = message.progress();
    }
    result.status = reader->Finish();
    return result;
  }
};

TEST_F(VerifyTest, ChecksABlobABucketAndAll) {
  MustPut("a", RandomBytes(100'000));
  MustPut("b", RandomBytes(5), "other");
  v1::VerifyRequest request;
  *request.mutable_blob() = ByName("a");
  Verified verified = Verify(request);
  EXPECT_TRUE(Says(verified.status, StatusCode::OK));
  EXPECT_TRUE(verified.last.done());
  EXPECT_EQ(verified.last.blobs_checked(), 1u);
  EXPECT_EQ(verified.last.bytes_checked(), 100'000u);
  request.set_bucket("other");
  verified = Verify(request);
  EXPECT_EQ(verified.last.bytes_checked(), 5u);
  request.set_all(true);
  verified = Verify(request);
  EXPECT_TRUE(verified.last.done());
  EXPECT_EQ(verified.last.bytes_checked(), 100'005u);
  EXPECT_EQ(verified.last.findings(), 0u);
}

TEST_F(VerifyTest, ReportsWhereTheDamageIs) {
  const v1::PutResponse put = MustPut("a", RandomBytes(200'000));
  probe_.DamageRow(1);  // its last byte: in the group that ends at 128 KiB
  v1::VerifyRequest request;
  request.set_all(true);
  const Verified verified = Verify(request);
  EXPECT_TRUE(Says(verified.status, StatusCode::OK));
  ASSERT_EQ(verified.findings.size(), 1u);
  EXPECT_EQ(verified.findings[0].digest(), put.digest());
  EXPECT_LE(verified.findings[0].offset_bytes(), 131'071u);
  EXPECT_GT(verified.findings[0].offset_bytes() + verified.findings[0].length_bytes(), 131'071u);
  EXPECT_NE(verified.findings[0].problem(), "");
  EXPECT_EQ(verified.last.findings(), 1u);
  EXPECT_TRUE(verified.last.done());
}

TEST_F(VerifyTest, RefusesWhatMakesNoSense) {
  EXPECT_TRUE(Says(Verify({}).status, StatusCode::INVALID_ARGUMENT, {"bucket"}));
  v1::VerifyRequest request;
  *request.mutable_blob() = ByName("absent");
  MustPut("n", "content");
  EXPECT_TRUE(Says(Verify(request).status, StatusCode::NOT_FOUND, {"name \"absent\""}));
  request.set_bucket("absent");
  EXPECT_TRUE(Says(Verify(request).status, StatusCode::NOT_FOUND, {"absent"}));
  request.set_all(true);
  request.set_offset_bytes(1);
  EXPECT_TRUE(Says(Verify(request).status, StatusCode::INVALID_ARGUMENT, {"offset_bytes"}));
}

TEST_F(VerifyTest, CanBeCancelledAndFreesItsPlace) {
  MustPut("a", RandomBytes(20 << 20));
  v1::VerifyRequest request;
  request.set_all(true);
  for (int i = 0; i < 20; ++i) {
    grpc::ClientContext context;
    auto reader = blobs_->Verify(&context, request);
    absl::SleepFor(absl::Milliseconds(i));
    context.TryCancel();
    reader->Finish();
  }
  // There is one place: it is free again, if perhaps not at once.
  EXPECT_TRUE(Eventually([&] { return Verify(request).status.ok(); }));
}

}  // namespace
}  // namespace coffer
