// SPDX-License-Identifier: Apache-2.0
//
// The client library against a server that lies and fails: what is checked, what is retried, what is not.
#include "client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/client/client_fixture.h"
#include "tests/support/latch.h"

namespace coffer::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ClientTest, PutsAndGetsEverySizeAroundAMessage) {
  constexpr size_t kMessage = size_t{1} << 20;
  for (size_t size : {size_t{0}, size_t{1}, kMessage - 1, kMessage, kMessage + 1, 2 * kMessage, 3 * kMessage + 7}) {
    const std::string content = Pattern(size);
    const auto put = client_.PutBytes(BytesOf(content), {.name = "n"});
    ASSERT_TRUE(put.ok()) << put.status();
    EXPECT_EQ(put->digest, DigestOf(content));
    EXPECT_EQ(put->size_bytes, size);
    EXPECT_EQ(server_.Content("n"), content);
    EXPECT_EQ(Fetch({"", "n"}), content);
    EXPECT_EQ(Fetch({"", put->digest}), content);
  }
}

TEST_F(ClientTest, PutSendsDigestAndSizeAheadWhenOneMessageHoldsAll) {
  ASSERT_TRUE(client_.PutBytes(BytesOf("hello"), {.name = "n"}).ok());
  EXPECT_EQ(server_.last_put_header().expected_digest(), DigestOf("hello").view());
  EXPECT_EQ(server_.last_put_header().size_bytes(), 5u);
  ASSERT_TRUE(client_.PutBytes(BytesOf(Pattern(2 << 20)), {.name = "n"}).ok());
  EXPECT_EQ(server_.last_put_header().expected_digest(), "");
  EXPECT_EQ(server_.last_put_header().size_bytes(), uint64_t{2} << 20);
}

TEST_F(ClientTest, PutPassesBucketNameAndMetadata) {
  ASSERT_TRUE(client_.PutBytes(BytesOf("x"), {.bucket = "b", .name = "n", .metadata = {{"k", "v"}}}).ok());
  EXPECT_EQ(server_.Content("n", "b"), "x");
  EXPECT_EQ(server_.last_put_header().metadata().at("k"), "v");
}

TEST_F(ClientTest, PutStoresNothingIfTheContentIsNotTheExpected) {
  for (const std::string& content : {std::string("small"), Pattern(3 << 20)}) {
    const auto put = client_.PutBytes(BytesOf(content), {.name = "n", .expected_digest = DigestOf("other")});
    EXPECT_EQ(put.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(put.status().message()), HasSubstr(DigestOf(content).ToHex()));
    EXPECT_THAT(std::string(put.status().message()), HasSubstr(DigestOf("other").ToHex()));
  }
  EXPECT_THAT(server_.Names(), ElementsAre());
}

TEST_F(ClientTest, PutReportsAnAnswerWithAnotherDigest) {
  server_.faults().put_answer = [](v1::PutResponse& answer) {
    answer.set_digest(std::string(DigestOf("other").view()));
  };
  EXPECT_EQ(client_.PutBytes(BytesOf("x"), {}).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ClientTest, PutReportsAnAnswerWithAnotherSize) {
  server_.faults().put_answer = [](v1::PutResponse& answer) { answer.set_size_bytes(2); };
  EXPECT_EQ(client_.PutBytes(BytesOf("x"), {}).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ClientTest, PutIsRepeatedWhenTheServerIsUnavailable) {
  server_.faults().before = FailFirst("Put", 2, grpc::StatusCode::UNAVAILABLE);
  int64_t progress = 0;
  const std::string content = Pattern(3 << 20);
  const auto put =
      client_.PutBytes(BytesOf(content), {.name = "n", .progress = [&](int64_t bytes) { progress += bytes; }});
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(server_.Calls("Put"), 3);
  EXPECT_EQ(server_.Content("n"), content);
  EXPECT_EQ(progress, int64_t{3} << 20);
}

TEST_F(ClientTest, APutUnderWayBridgesARestartOfTheServer) {
  auto first = std::make_unique<FakeServer>();
  const std::string address = first->address();
  ClientOptions options = Impatient();
  options.retry = {.max_retries = 1000, .first_backoff = absl::Milliseconds(1), .max_backoff = absl::Milliseconds(100)};
  Client client(address, options);
  ASSERT_TRUE(client.PutBytes(BytesOf("x"), {}).ok());
  first.reset();
  absl::Status status = absl::UnknownError("not called");
  const std::string content = Pattern(3 << 20);
  std::thread caller([&] { status = client.PutBytes(BytesOf(content), {.name = "n"}).status(); });
  // Some tries find nobody.
  absl::SleepFor(absl::Milliseconds(100));
  FakeServer second(address);
  caller.join();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(second.Content("n"), content);
}

TEST_F(ClientTest, PutFromAPipeIsNotRepeated) {
  server_.faults().before = FailFirst("Put", 1, grpc::StatusCode::UNAVAILABLE);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  ::close(ends[1]);
  auto source = FileSource::FromFd(UniqueFd(ends[0]), "pipe");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(client_.Put(**source, {}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(server_.Calls("Put"), 1);
}

TEST_F(ClientTest, OtherFailuresAreNotRepeated) {
  for (auto code : {grpc::StatusCode::RESOURCE_EXHAUSTED, grpc::StatusCode::INTERNAL,
                    grpc::StatusCode::PERMISSION_DENIED, grpc::StatusCode::DATA_LOSS}) {
    const int before = server_.Calls("Stat");
    server_.faults().before = FailFirst("Stat", 100, code);
    const auto status = client_.Stat({"", "n"}).status();
    EXPECT_EQ(static_cast<int>(status.code()), static_cast<int>(code));
    EXPECT_EQ(status.message(), "as told");
    EXPECT_EQ(server_.Calls("Stat"), before + 1);
  }
}

TEST_F(ClientTest, RetriesAreLimited) {
  server_.faults().before = FailFirst("Stat", 100, grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(client_.Stat({"", "n"}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(server_.Calls("Stat"), 1 + RetryPolicy().max_retries);
}

TEST_F(ClientTest, AFailureOfTheServerEndsALongPut) {
  server_.faults().put_message = [] { return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "disk is full"); };
  const auto status = client_.PutBytes(BytesOf(Pattern(64 << 20)), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "disk is full");
}

TEST_F(ClientTest, AFailureOfTheSourceStoresNothing) {
  class Broken : public BufferSource {
   public:
    using BufferSource::BufferSource;
    absl::StatusOr<size_t> Read(absl::Span<uint8_t> out) override {
      const auto count = BufferSource::Read(out);
      if (*count == 0) return absl::InternalError("disk on fire");
      return count;
    }
    std::optional<uint64_t> size_bytes() const override { return std::nullopt; }
  };
  const std::string content = Pattern(5 << 20);
  Broken source(BytesOf(content));
  EXPECT_EQ(client_.Put(source, {.name = "n"}).status(), absl::InternalError("disk on fire"));
  EXPECT_THAT(server_.Names(), ElementsAre());
}

TEST_F(ClientTest, ListsPageByPage) {
  server_.faults().page_size = 2;
  for (const char* name : {"a1", "a2", "a3", "a4", "a5", "b"}) server_.Add(name, name);
  std::vector<std::string> names;
  ASSERT_TRUE(client_
                  .ForEachReference({.bucket = "", .prefix = "a"},
                                    [&](const Reference& reference) {
                                      names.push_back(reference.name);
                                      return absl::OkStatus();
                                    })
                  .ok());
  EXPECT_THAT(names, ElementsAre("a1", "a2", "a3", "a4", "a5"));
  EXPECT_EQ(server_.Calls("List"), 3);
}

TEST_F(ClientTest, DeletesMoreNamesThanOneCallTakes) {
  std::vector<std::string> names;
  for (int i = 0; i < 2500; ++i) {
    names.push_back("n" + std::to_string(i));
    server_.Add(names.back(), "x");
  }
  names.push_back("missing");
  const auto deleted = client_.Delete("", names);
  ASSERT_TRUE(deleted.ok()) << deleted.status();
  EXPECT_EQ(*deleted, 2500u);
  EXPECT_EQ(server_.Calls("Delete"), 3);
  EXPECT_THAT(server_.Names(), ElementsAre());
}

TEST_F(ClientTest, FindsMissingDigestsInOrderEachOnce) {
  const Digest here = server_.Add("n", "here");
  const Digest b = DigestOf("b"), a = DigestOf("a");
  const auto missing = client_.FindMissing("", {b, here, a, b});
  ASSERT_TRUE(missing.ok()) << missing.status();
  EXPECT_THAT(*missing, ElementsAre(b, a));
}

TEST_F(ClientTest, BindsAndResolves) {
  const Digest digest = server_.Add("n", "content");
  const auto bound = client_.Bind("other", "m", digest, {{"k", "v"}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  const auto found = client_.Resolve("other", "m");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->digest, digest);
  EXPECT_EQ(found->size_bytes, 7u);
  EXPECT_EQ(found->metadata, (Metadata{{"k", "v"}}));
  EXPECT_EQ(found->created, absl::FromUnixSeconds(1700000000));
  EXPECT_EQ(client_.Resolve("other", "x").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(client_.Bind("", "m", DigestOf("z"), {}).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ClientTest, MakesListsAndRemovesBuckets) {
  EXPECT_EQ(*client_.CreateBucket("b"), true);
  EXPECT_EQ(*client_.CreateBucket("b"), false);
  EXPECT_EQ(*client_.CreateBucket("a"), true);
  const auto page = client_.ListBuckets(0, "");
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->buckets.size(), 2u);
  EXPECT_EQ(page->buckets[0].bucket, "a");
  EXPECT_EQ(*client_.DeleteBucket("b"), true);
  EXPECT_EQ(*client_.DeleteBucket("b"), false);
}

TEST_F(ClientTest, VerifyHandsOverFindings) {
  const Digest digest = server_.Add("n", "content");
  v1::VerifyFinding finding;
  finding.set_digest(std::string(digest.view()));
  finding.set_offset_bytes(16384);
  finding.set_length_bytes(100);
  finding.set_problem("chunk group does not match");
  server_.faults().findings = {finding};
  std::vector<VerifyFinding> found;
  const auto result =
      client_.Verify({.scope = Selector{"", "n"}},
                     {.progress = nullptr, .finding = [&](const VerifyFinding& one) { found.push_back(one); }});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->findings, 1u);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].digest, digest);
  EXPECT_EQ(found[0].offset_bytes, 16384u);
  EXPECT_EQ(found[0].problem, "chunk group does not match");
}

TEST_F(ClientTest, VerifyThatEndsEarlyIsNoSuccess) {
  server_.Add("n", "content");
  server_.faults().verify_says_done = false;
  EXPECT_FALSE(client_.Verify({.scope = WholeStore{}}, {}).ok());
}

TEST_F(ClientTest, NamesThatAreNotUtf8AreRefusedHere) {
  for (const std::string& name : {std::string("\xff"), std::string("a\xc0\xaf"), std::string("\xed\xa0\x80"),
                                  std::string("\xf4\x90\x80\x80"), std::string("\xe2\x82")}) {
    EXPECT_EQ(client_.PutBytes({}, {.name = name}).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(client_.Stat({"", name}).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(server_.Calls("Put") + server_.Calls("Stat"), 0);
  for (const std::string name : {"ä", "€uro", "\xf0\x9f\x98\x80", "\xef\xbf\xbd", "a\x7f\n"}) {
    EXPECT_TRUE(client_.PutBytes(BytesOf("x"), {.name = name}).ok()) << name;
    EXPECT_EQ(server_.Content(name), "x");
  }
}

TEST_F(ClientTest, NoServerIsUnavailableAndNamesTheAddress) {
  Client client("127.0.0.1:1", Impatient());
  const auto status = client.Status().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no server answers at 127.0.0.1:1"));
}

TEST_F(ClientTest, AUnaryCallHasADeadline) {
  server_.faults().before = [](const std::string&) {
    absl::SleepFor(absl::Milliseconds(600));
    return grpc::Status::OK;
  };
  ClientOptions options = Impatient();
  options.deadline = absl::Milliseconds(50);
  Client client(server_.address(), options);
  EXPECT_EQ(client.Status().status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ClientTest, AStreamThatDoesNotMoveIsEnded) {
  server_.Add("n", Pattern(200000));
  Latch release;
  server_.faults().get_message = [=](v1::GetResponse& message) {
    if (message.has_data()) release.Wait();
    return true;
  };
  ClientOptions options = Impatient();
  options.idle_timeout = absl::Milliseconds(100);
  Client client(server_.address(), options);
  const auto status = client.Get({"", "n"}, {}, [](ByteSpan) { return absl::OkStatus(); }).status();
  release.Open();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("100ms"));
}

TEST_F(ClientTest, ASlowSinkIsNotTakenForASlowServer) {
  server_.Add("n", Pattern(200000));
  ClientOptions options = Impatient();
  options.idle_timeout = absl::Milliseconds(100);
  Client client(server_.address(), options);
  EXPECT_TRUE(client
                  .Get({"", "n"}, {},
                       [](ByteSpan) {
                         absl::SleepFor(absl::Milliseconds(250));
                         return absl::OkStatus();
                       })
                  .ok());
}

TEST_F(ClientTest, CancelEndsCallsUnderWayAndLaterOnes) {
  Latch entered, release;
  server_.faults().before = [=](const std::string& rpc) {
    if (rpc == "Stat") {
      entered.Open();
      release.Wait();
    }
    return grpc::Status::OK;
  };
  absl::Status status;
  std::thread caller([&] { status = client_.Stat({"", "n"}).status(); });
  entered.Wait();
  client_.Cancel();
  caller.join();
  release.Open();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(client_.Status().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(client_.PutBytes(BytesOf("x"), {}).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ClientTest, ManyThreadsShareOneClient) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string content = Pattern(1000 * t + i);
        const auto put = client_.PutBytes(BytesOf(content), {});
        std::string out;
        if (!put.ok() || !client_.GetBytes({"", put->digest}, {}, kNoLimit, &out).ok() || out != content) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace coffer::testing
