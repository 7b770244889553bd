// SPDX-License-Identifier: Apache-2.0
//
// BlobService.Put: what is stored, what is refused and with which words, and that nothing partial is ever seen.
#include <grpcpp/generic/generic_stub.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "hashing/worker_pool.h"
#include "server/server.h"
#include "storage/memory/memory_engine.h"
#include "tests/support/serving_fixture.h"

namespace coffer {
namespace {

using grpc::StatusCode;
using PutTest = ServingTest;

TEST_F(PutTest, StoresEverySizeUnderItsDigest) {
  for (const size_t size_bytes : {0, 1, 1024, 16384, 65536, 65537, (1 << 20) + 1, 5'000'000}) {
    const std::string bytes = RandomBytes(size_bytes);
    const std::string name = absl::StrCat("size ", size_bytes);
    const v1::PutResponse response = MustPut(name, bytes);
    EXPECT_EQ(HexOf(response.digest()), DigestOf(bytes).ToHex());
    EXPECT_EQ(response.size_bytes(), size_bytes);
    EXPECT_EQ(response.name(), name);
    EXPECT_FALSE(response.deduplicated());
    const Got got = GetByName(name);
    EXPECT_TRUE(Says(got.status, StatusCode::OK));
    EXPECT_TRUE(got.bytes == bytes) << "size " << size_bytes;
  }
  EXPECT_EQ(ServerStatus().staging_bytes(), 0u);
}

TEST_F(PutTest, NamesTheReferenceByTheDigestIfThereIsNoName) {
  const v1::PutResponse response = MustPut("", "content");
  EXPECT_EQ(response.name(), DigestOf("content").ToHex());
  EXPECT_EQ(GetByName(response.name()).bytes, "content");
}

TEST_F(PutTest, SaysThatContentWasThereAlready) {
  EXPECT_FALSE(MustPut("a", "content").deduplicated());
  EXPECT_TRUE(MustPut("b", "content").deduplicated());
  const v1::StatusResponse status = ServerStatus();
  EXPECT_EQ(status.blobs(), 1u);
  EXPECT_EQ(status.references(), 2u);
}

TEST_F(PutTest, RefusesAStreamThatDoesNotSayWhereItEnds) {
  v1::PutResponse response;
  EXPECT_TRUE(Says(PutMessages({HeaderMessage(NamedHeader("n")), DataMessage("abc")}, &response),
                   StatusCode::INVALID_ARGUMENT, {"3 bytes", "size_bytes", "end message"}));
  EXPECT_TRUE(Says(PutMessages({HeaderMessage(NamedHeader("n")), DataMessage("abc"), EndMessage(4)}, &response),
                   StatusCode::INVALID_ARGUMENT, {"3 bytes", "4"}));
  EXPECT_TRUE(Says(
      PutMessages({HeaderMessage(NamedHeader("n")), DataMessage("abc"), EndMessage(3), DataMessage("d")}, &response),
      StatusCode::INVALID_ARGUMENT, {"follows its end"}));
  v1::PutRequest lie = EndMessage(3);
  lie.mutable_end()->set_expected_digest(std::string(32, 'x'));
  EXPECT_TRUE(Says(PutMessages({HeaderMessage(NamedHeader("n")), DataMessage("abc"), lie}, &response),
                   StatusCode::INVALID_ARGUMENT, {"expected"}));
  lie.mutable_end()->set_expected_digest("short");
  EXPECT_TRUE(Says(PutMessages({HeaderMessage(NamedHeader("n")), DataMessage("abc"), lie}, &response),
                   StatusCode::INVALID_ARGUMENT, {"5", "32"}));
  EXPECT_TRUE(Says(GetByName("n").status, StatusCode::NOT_FOUND));
  EXPECT_EQ(ServerStatus().staging_bytes(), 0u);
}

TEST_F(PutTest, AcceptsEmptyPieces) {
  v1::PutResponse response;
  EXPECT_TRUE(Says(
      PutMessages({HeaderMessage(NamedHeader("n")), DataMessage(""), DataMessage("x"), DataMessage(""), EndMessage(1)},
                  &response),
      StatusCode::OK));
  EXPECT_EQ(response.size_bytes(), 1u);
}

TEST_F(PutTest, AcceptsAMebibyteAMessageAndRefusesAByteMore) {
  v1::PutResponse response;
  EXPECT_TRUE(
      Says(PutMessages({HeaderMessage(NamedHeader("n")), DataMessage(std::string(1 << 20, 'x')), EndMessage(1 << 20)},
                       &response),
           StatusCode::OK));
  EXPECT_TRUE(
      Says(PutMessages({HeaderMessage(NamedHeader("m")), DataMessage(std::string((1 << 20) + 1, 'x'))}, &response),
           StatusCode::INVALID_ARGUMENT, {"1048577", "1048576"}));
  EXPECT_TRUE(Says(GetByName("m").status, StatusCode::NOT_FOUND));
}

TEST_F(PutTest, RefusesAMessageOverTheReceiveLimitAndStoresNothing) {
  v1::PutResponse response;
  EXPECT_TRUE(
      Says(PutMessages({HeaderMessage(NamedHeader("n")), DataMessage("x"), DataMessage(std::string(5 << 20, 'x'))},
                       &response),
           StatusCode::RESOURCE_EXHAUSTED, {"4194304"}));
  EXPECT_TRUE(Says(GetByName("n").status, StatusCode::NOT_FOUND));
}

TEST_F(PutTest, RefusesAPutWithoutAMessage) {
  v1::PutResponse response;
  EXPECT_TRUE(Says(PutMessages({}, &response), StatusCode::INVALID_ARGUMENT, {"the first one must be the header"}));
}

TEST_F(PutTest, RefusesDataBeforeTheHeader) {
  v1::PutResponse response;
  EXPECT_TRUE(Says(PutMessages({DataMessage("abc"), HeaderMessage(NamedHeader("n"))}, &response),
                   StatusCode::INVALID_ARGUMENT, {"first message", "data (3 bytes)", "header"}));
}

TEST_F(PutTest, RefusesASecondHeader) {
  v1::PutResponse response;
  EXPECT_TRUE(
      Says(PutMessages({HeaderMessage(NamedHeader("n")), DataMessage("a"), HeaderMessage(NamedHeader("n"))}, &response),
           StatusCode::INVALID_ARGUMENT, {"second header"}));
  EXPECT_TRUE(Says(GetByName("n").status, StatusCode::NOT_FOUND));
}

TEST_F(PutTest, RefusesAMessageWithNeitherHeaderNorData) {
  v1::PutResponse response;
  EXPECT_TRUE(
      Says(PutMessages({v1::PutRequest()}, &response), StatusCode::INVALID_ARGUMENT, {"first message", "empty"}));
  EXPECT_TRUE(Says(PutMessages({HeaderMessage(NamedHeader("n")), v1::PutRequest()}, &response),
                   StatusCode::INVALID_ARGUMENT, {"neither header nor data"}));
}

TEST_F(PutTest, RefusesBadNames) {
  v1::PutResponse response;
  EXPECT_TRUE(
      Says(Put(NamedHeader(std::string(1025, 'n')), "x", &response), StatusCode::INVALID_ARGUMENT, {"1025", "1024"}));
  EXPECT_TRUE(Says(Put(NamedHeader(std::string("a\0b", 3)), "x", &response), StatusCode::INVALID_ARGUMENT, {"NUL"}));
  EXPECT_TRUE(
      Says(Put(NamedHeader("a\xff"), "x", &response), StatusCode::INVALID_ARGUMENT, {"name", "a\\xff", "UTF-8"}));
  EXPECT_TRUE(Says(Put(NamedHeader("n", "a/b"), "x", &response), StatusCode::INVALID_ARGUMENT, {"bucket", "a/b"}));
  EXPECT_TRUE(
      Says(Put(NamedHeader("n", std::string(256, 'b')), "x", &response), StatusCode::INVALID_ARGUMENT, {"256", "255"}));
  const std::string other = DigestOf("other content").ToHex();
  EXPECT_TRUE(Says(Put(NamedHeader(other), "x", &response), StatusCode::INVALID_ARGUMENT, {other}));
  EXPECT_EQ(ServerStatus().references(), 0u);
}

TEST_F(PutTest, RefusesBadMetadata) {
  v1::PutResponse response;
  v1::PutHeader header = NamedHeader("n");
  (*header.mutable_metadata())["a b"] = "v";
  EXPECT_TRUE(Says(Put(header, "x", &response), StatusCode::INVALID_ARGUMENT, {"a b"}));
  header = NamedHeader("n");
  (*header.mutable_metadata())["k"] = std::string(1025, 'v');
  EXPECT_TRUE(Says(Put(header, "x", &response), StatusCode::INVALID_ARGUMENT, {"1024"}));
}

TEST_F(PutTest, ChecksTheExpectedDigest) {
  v1::PutResponse response;
  v1::PutHeader header = NamedHeader("n");
  header.set_expected_digest(std::string(31, 'd'));
  EXPECT_TRUE(Says(Put(header, "x", &response), StatusCode::INVALID_ARGUMENT, {"expected_digest", "31", "32"}));
  header.set_expected_digest(WireDigestOf("y"));
  EXPECT_TRUE(
      Says(Put(header, "x", &response), StatusCode::INVALID_ARGUMENT, {DigestOf("x").ToHex(), DigestOf("y").ToHex()}));
  EXPECT_EQ(ServerStatus().blobs(), 0u);
  header.set_expected_digest(WireDigestOf("x"));
  EXPECT_TRUE(Says(Put(header, "x", &response), StatusCode::OK));
}

TEST_F(PutTest, ChecksTheDeclaredSize) {
  v1::PutResponse response;
  v1::PutHeader header = NamedHeader("n");
  header.set_size_bytes(5);
  EXPECT_TRUE(Says(Put(header, "1234", &response), StatusCode::INVALID_ARGUMENT, {"4", "5"}));
  EXPECT_TRUE(Says(Put(header, "123456", &response), StatusCode::INVALID_ARGUMENT, {"5"}));
  EXPECT_TRUE(Says(GetByName("n").status, StatusCode::NOT_FOUND));
  EXPECT_TRUE(Says(Put(header, "12345", &response), StatusCode::OK));
  header.set_size_bytes((uint64_t{1} << 40) + 1);
  EXPECT_FALSE(Put(header, "12345", &response).ok());
  EXPECT_EQ(ServerStatus().staging_bytes(), 0u);
}

// On gRPC's callback API a message that does not parse looks like the clean end of the stream.
TEST_F(PutTest, AMalformedMessageInTheMiddleStoresNothing) {
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  void* tag;
  bool ok;
  const auto next = [&] { return queue.Next(&tag, &ok) && ok; };
  auto call = stub.PrepareCall(&context, "/coffer.v1.BlobService/Put", &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(next());
  const auto write = [&](const std::string& bytes) {
    const grpc::Slice slice(bytes);
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    return next();
  };
  ASSERT_TRUE(write(HeaderMessage(NamedHeader("n")).SerializeAsString()));
  ASSERT_TRUE(write(DataMessage("first half").SerializeAsString()));
  write("\x12\xff\xff\xff\x7f not that long");
  grpc::Status status;
  call->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
  EXPECT_TRUE(Says(status, StatusCode::INVALID_ARGUMENT, {"PutRequest", "malformed"}));
  EXPECT_TRUE(Says(GetByName("n").status, StatusCode::NOT_FOUND));
  EXPECT_EQ(ServerStatus().blobs(), 0u);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
}

TEST_F(PutTest, RefusesCompressedMessages) {
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::PutResponse response;
  auto writer = blobs_->Put(&context, &response);
  writer->Write(HeaderMessage(NamedHeader("n")));
  writer->WritesDone();
  EXPECT_TRUE(Says(writer->Finish(), StatusCode::UNIMPLEMENTED, {"gzip"}));
}

TEST_F(PutTest, ACancelledPutLeavesNothing) {
  {
    grpc::ClientContext context;
    v1::PutResponse response;
    auto writer = blobs_->Put(&context, &response);
    ASSERT_TRUE(writer->Write(HeaderMessage(NamedHeader("n"))));
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(writer->Write(DataMessage(RandomBytes(1 << 20))));
    ASSERT_TRUE(Eventually([this] { return ServerStatus().staging_bytes() > 0; }));
    context.TryCancel();
    EXPECT_TRUE(Says(writer->Finish(), StatusCode::CANCELLED));
  }
  EXPECT_TRUE(Eventually([this] { return ServerStatus().staging_bytes() == 0; }));
  EXPECT_TRUE(Says(GetByName("n").status, StatusCode::NOT_FOUND));
  EXPECT_EQ(ServerStatus().blobs(), 0u);
}

// A broken stream and a half-close end a read in the same way: many of them, cut at different moments.
TEST_F(PutTest, NoCancelledOrDroppedStreamIsEverCommitted) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 100;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, thread] {
      for (int round = 0; round < kRounds; ++round) {
        std::shared_ptr<grpc::Channel> channel = NewChannel();
        auto stub = v1::BlobService::NewStub(channel);
        grpc::ClientContext context;
        v1::PutResponse response;
        auto writer = stub->Put(&context, &response);
        writer->Write(HeaderMessage(NamedHeader(absl::StrCat("n", thread, " ", round))));
        writer->Write(DataMessage(absl::StrCat("half of ", thread, " ", round)));
        absl::SleepFor(absl::Microseconds((round * 37) % 400));
        context.TryCancel();
        writer->Finish();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Eventually([this] { return ServerStatus().staging_bytes() == 0; }));
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(probe_.published(), 0);
  EXPECT_EQ(ServerStatus().references(), 0u);
}

TEST_F(PutTest, APutWhoseDeadlinePassesLeavesNothing) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(100));
  v1::PutResponse response;
  auto writer = blobs_->Put(&context, &response);
  writer->Write(HeaderMessage(NamedHeader("n")));
  writer->Write(DataMessage("abc"));
  absl::SleepFor(absl::Milliseconds(150));
  EXPECT_TRUE(Says(writer->Finish(), StatusCode::DEADLINE_EXCEEDED));
  EXPECT_TRUE(Says(GetByName("n").status, StatusCode::NOT_FOUND));
}

TEST_F(PutTest, ManyAtOnceAreAllStored) {
  constexpr int kThreads = 16;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 0; i < 20; ++i) MustPut(absl::StrCat(thread, "/", i), RandomBytes(i * 5000, i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const v1::StatusResponse status = ServerStatus();
  EXPECT_EQ(status.references(), 20u * kThreads);
  EXPECT_EQ(status.blobs(), 20u);
  EXPECT_EQ(status.staging_bytes(), 0u);
}

TEST(PutStream, IsHashedByMoreThanOneThread) {
  WorkerPool workers(2);
  BlobStore store(NewMemoryEngine(), BlobStore::Options{.hash_workers = &workers});
  auto server = Server::Start({}, store);
  ASSERT_TRUE(server.ok()) << server.status();
  const auto channel =
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", (*server)->port()), grpc::InsecureChannelCredentials());
  const auto blobs = v1::BlobService::NewStub(channel);
  grpc::ClientContext context;
  v1::PutResponse response;
  const auto writer = blobs->Put(&context, &response);
  const std::string piece = RandomBytes(1 << 20);
  constexpr int kPieces = 64;
  v1::PutHeader header = NamedHeader("wide");
  header.set_size_bytes(kPieces * piece.size());
  ASSERT_TRUE(writer->Write(HeaderMessage(header)));
  for (int i = 0; i < kPieces; ++i) ASSERT_TRUE(writer->Write(DataMessage(piece)));
  writer->WritesDone();
  EXPECT_TRUE(Says(writer->Finish(), StatusCode::OK));
  EXPECT_EQ(store.hashed_in_parallel(), 1u);
  EXPECT_EQ(response.digest(), WireDigestOf([&] {
              std::string whole;
              for (int i = 0; i < kPieces; ++i) whole += piece;
              return whole;
            }()));
}

}  // namespace
}  // namespace coffer
