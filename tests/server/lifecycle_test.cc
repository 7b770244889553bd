// SPDX-License-Identifier: Apache-2.0
//
// Starting, stopping, health, reflection and limits on running calls.
#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "server/listen_address.h"
#include "storage/memory/memory_engine.h"
#include "tests/support/serving_fixture.h"

namespace coffer {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

// One message to `method` and the first one back, both as bytes: for services whose protos are not at hand.
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     const std::string& request, std::string* response) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  grpc::CompletionQueue queue;
  void* tag;
  bool ok;
  auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  queue.Next(&tag, &ok);
  const grpc::Slice slice(request);
  call->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
  queue.Next(&tag, &ok);
  grpc::ByteBuffer buffer;
  call->Read(&buffer, nullptr);
  queue.Next(&tag, &ok);
  grpc::Slice whole;
  if (ok && buffer.DumpToSingleSlice(&whole).ok()) {
    response->assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  return status;
}

constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";
const std::string kServing = "\x08\x01";
const std::string kNotServing = "\x08\x02";

using LifecycleTest = ServingTest;

TEST_F(LifecycleTest, HealthAnswersServing) {
  std::string response;
  EXPECT_TRUE(Says(CallRaw(channel_, kHealthCheck, "", &response), StatusCode::OK));
  EXPECT_EQ(response, kServing);
}

TEST_F(LifecycleTest, ReflectionListsTheServices) {
  std::string response;
  const std::string list_services = std::string("\x3a\x00", 2);
  EXPECT_TRUE(Says(
      CallRaw(channel_, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", list_services, &response),
      StatusCode::OK));
  for (const char* service :
       {"coffer.v1.BlobService", "coffer.v1.ReferenceService", "coffer.v1.AdminService", "grpc.health.v1.Health"}) {
    EXPECT_THAT(response, HasSubstr(service));
  }
}

TEST_F(LifecycleTest, DrainRefusesNewCallsAndLetsRunningOnesEnd) {
  v1::PutResponse response;
  grpc::ClientContext context;
  auto writer = blobs_->Put(&context, &response);
  writer->Write(HeaderMessage(NamedHeader("n")));
  for (int i = 0; i < 3; ++i) writer->Write(DataMessage(RandomBytes(1 << 20)));
  ASSERT_TRUE(Eventually([this] { return ServerStatus().staging_bytes() > 0; }));
  std::atomic<bool> is_down{false};
  std::thread stopper([&] {
    server_->Shutdown(absl::Now() + absl::Seconds(20));
    is_down = true;
  });
  const auto refused = [this] {
    grpc::ClientContext status_context;
    v1::StatusResponse status_response;
    return Says(admin_->Status(&status_context, {}, &status_response), StatusCode::UNAVAILABLE, {"stopping"});
  };
  EXPECT_TRUE(Eventually(refused));
  std::string health;
  EXPECT_TRUE(Says(CallRaw(channel_, kHealthCheck, "", &health), StatusCode::OK));
  EXPECT_EQ(health, kNotServing);
  EXPECT_FALSE(is_down);
  EXPECT_TRUE(writer->Write(DataMessage("second half")));
  EXPECT_TRUE(writer->Write(EndMessage(3 * (1 << 20) + 11)));
  writer->WritesDone();
  EXPECT_TRUE(Says(writer->Finish(), StatusCode::OK));
  stopper.join();
  EXPECT_TRUE(store_->Stat(BlobSelector{"", std::string("n")}).ok());
}

TEST_F(LifecycleTest, DrainCutsOffAnIdlePutAtItsLimit) {
  v1::PutResponse response;
  grpc::ClientContext context;
  auto writer = blobs_->Put(&context, &response);
  writer->Write(HeaderMessage(NamedHeader("n")));
  for (int i = 0; i < 3; ++i) writer->Write(DataMessage(RandomBytes(1 << 20)));
  ASSERT_TRUE(Eventually([this] { return ServerStatus().staging_bytes() > 0; }));
  const absl::Time start = absl::Now();
  server_->Shutdown(start + absl::Milliseconds(300));
  EXPECT_LT(absl::Now() - start, absl::Milliseconds(300) + Server::kHangUpTime + absl::Seconds(2));
  EXPECT_TRUE(Says(writer->Finish(), StatusCode::UNAVAILABLE));
  EXPECT_TRUE(absl::IsNotFound(store_->Stat(BlobSelector{"", std::string("n")}).status()));
  EXPECT_EQ(store_->GetStatus().staging_bytes, 0u);
}

TEST_F(LifecycleTest, ShutdownUnderLoadEndsWithinItsLimitAndLosesNothing) {
  constexpr int kThreads = 8;
  std::atomic<bool> stop{false};
  std::vector<std::string> acknowledged[kThreads];
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; !stop; ++i) {
        const std::string name = absl::StrCat(thread, "/", i);
        v1::PutResponse response;
        const grpc::Status status = Put(NamedHeader(name), RandomBytes(200'000, thread * 100'000 + i), &response);
        if (status.ok()) {
          acknowledged[thread].push_back(name);
        } else {
          // gRPC cancels what arrives in the moment between the drain and the GOAWAY (server.h).
          EXPECT_TRUE(Says(status, StatusCode::UNAVAILABLE) || Says(status, StatusCode::CANCELLED))
              << status.error_code() << status.error_message();
        }
        GetByName(name);
      }
    });
  }
  absl::SleepFor(absl::Milliseconds(300));
  const absl::Time start = absl::Now();
  server_->Shutdown(start + absl::Seconds(5));
  EXPECT_LT(absl::Now() - start, absl::Seconds(8));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  size_t count = 0;
  for (const std::vector<std::string>& names : acknowledged) {
    for (const std::string& name : names) {
      EXPECT_TRUE(store_->Stat(BlobSelector{"", name}).ok()) << name;
      ++count;
    }
  }
  EXPECT_GT(count, 0u);
  EXPECT_EQ(store_->GetStatus().staging_bytes, 0u);
}

TEST_F(LifecycleTest, ASecondServerOnThePortIsRefused) {
  BlobStore store(NewMemoryEngine(), {});
  ServerOptions options;
  const std::string where = absl::StrCat("127.0.0.1:", server_->port());
  options.listen = *ListenAddress::Parse(where);
  const absl::Status status = Server::Start(options, store).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr(where));
  EXPECT_THAT(std::string(status.message()), HasSubstr("in use"));
}

TEST_F(LifecycleTest, ServesAUnixSocketAndKeepsItFromASecondServer) {
  const std::string path = absl::StrCat(::testing::TempDir(), "coffer_", ::getpid(), ".sock");
  BlobStore store(NewMemoryEngine(), {});
  ServerOptions options;
  options.listen = *ListenAddress::Parse(absl::StrCat("unix:", path));
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options, store);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->port(), 0);
  auto stub =
      v1::AdminService::NewStub(grpc::CreateChannel(options.listen.ToString(), grpc::InsecureChannelCredentials()));
  v1::StatusResponse response;
  grpc::ClientContext context;
  EXPECT_TRUE(Says(stub->Status(&context, {}, &response), StatusCode::OK));
  const absl::Status second = Server::Start(options, store).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr(path));
  grpc::ClientContext again;
  EXPECT_TRUE(Says(stub->Status(&again, {}, &response), StatusCode::OK));
}

class LimitTest : public ServingTest {
 protected:
  LimitTest() : ServingTest({.calls = 2, .verifies = 1}) {}
};

TEST_F(LimitTest, MoreCallsThanAllowedAreRefusedUntilOneEnds) {
  probe_.HoldPublishes();
  std::vector<std::thread> puts;
  for (int i = 0; i < 2; ++i) {
    puts.emplace_back([this, i] { MustPut(absl::StrCat(i), absl::StrCat("content ", i)); });
  }
  ASSERT_TRUE(Eventually([this] { return probe_.held_publishes() == 2; }));
  EXPECT_TRUE(Says(GetByName("n").status, StatusCode::RESOURCE_EXHAUSTED, {"2 calls", "at most 2"}));
  probe_.ReleasePublishes();
  for (std::thread& put : puts) put.join();
  EXPECT_TRUE(Eventually([this] { return GetByName("0").status.ok(); }));
}

TEST(ListenAddress, ParsesAndKnowsWhatIsLocal) {
  for (const char* address : {"127.0.0.1:0", "127.3.2.1:7420", "localhost:1", "[::1]:7420", "unix:/tmp/s"}) {
    const absl::StatusOr<ListenAddress> parsed = ListenAddress::Parse(address);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_TRUE(parsed->IsLocal()) << address;
  }
  for (const char* address : {"0.0.0.0:7420", "[::]:7420", "192.168.1.1:1", "example.org:7420", "128.0.0.1:1"}) {
    const absl::StatusOr<ListenAddress> parsed = ListenAddress::Parse(address);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_FALSE(parsed->IsLocal()) << address;
  }
  for (const char* address : {"", "7420", ":7420", "host:", "host:65536", "host:-1", "unix:"}) {
    const absl::Status status = ListenAddress::Parse(address).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << address;
  }
  for (const char* address : {"127.0.0.1:0", "localhost:7420", "[::1]:65535", "unix:/tmp/s"}) {
    EXPECT_EQ(ListenAddress::Parse(address)->ToString(), address);
  }
  EXPECT_EQ(ListenAddress().ToString(), "127.0.0.1:0");
  EXPECT_EQ(ListenAddress::Parse("[::1]:0")->WithPort(5), "[::1]:5");
  EXPECT_EQ(ListenAddress::Parse("localhost:0")->WithPort(5), "localhost:5");
}

}  // namespace
}  // namespace coffer
