// SPDX-License-Identifier: Apache-2.0
//
// Client::Get against a server that lies and fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "client/client.h"
#include "tests/client/client_fixture.h"
#include "tests/support/process.h"

namespace coffer::testing {
namespace {

using ::testing::HasSubstr;

class ClientGetTest : public ClientTest {};

TEST_F(ClientGetTest, GetsRanges) {
  const std::string content = Pattern(300000);
  server_.Add("n", content);
  EXPECT_EQ(Fetch({"", "n"}, {.offset_bytes = 5, .length_bytes = 100000}), content.substr(5, 100000));
  EXPECT_EQ(Fetch({"", "n"}, {.offset_bytes = 299999}), content.substr(299999));
  EXPECT_EQ(Fetch({"", "n"}, {.offset_bytes = 300000}), "");
  EXPECT_EQ(Fetch({"", "n"}, {.offset_bytes = 1, .length_bytes = 1 << 30}), content.substr(1));
  EXPECT_EQ(FetchStatus({"", "n"}, {.offset_bytes = 300001}).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ClientGetTest, GetRejectsContentThatIsNotTheDigests) {
  server_.Add("n", Pattern(200000));
  server_.faults().get_message = [](v1::GetResponse& message) {
    if (message.has_data()) (*message.mutable_data())[7] ^= 1;
    return true;
  };
  EXPECT_EQ(FetchStatus({"", "n"}).code(), absl::StatusCode::kDataLoss);
}

TEST_F(ClientGetTest, GetRejectsAnotherBlobThanTheSelected) {
  const Digest digest = server_.Add("n", "one");
  const Digest other = server_.Add("m", "two");
  server_.faults().get_message = [&](v1::GetResponse& message) {
    if (message.has_header()) message.mutable_header()->set_digest(std::string(other.view()));
    if (message.has_data()) message.set_data("two");
    return true;
  };
  EXPECT_EQ(FetchStatus({"", digest}).code(), absl::StatusCode::kDataLoss);
}

TEST_F(ClientGetTest, GetRejectsAStreamThatEndsEarlyWithOk) {
  server_.Add("n", Pattern(200000));
  int messages = 0;
  server_.faults().get_message = [&](v1::GetResponse&) { return ++messages <= 2; };
  const auto status = FetchStatus({"", "n"});
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("65536 of 200000"));
}

TEST_F(ClientGetTest, GetRejectsAStreamThatIsTooLong) {
  server_.Add("n", "abc");
  server_.faults().get_message = [](v1::GetResponse& message) {
    if (message.has_data()) message.set_data("abcd");
    return true;
  };
  EXPECT_EQ(FetchStatus({"", "n"}).code(), absl::StatusCode::kDataLoss);
}

TEST_F(ClientGetTest, GetRejectsAnotherRangeThanTheSelected) {
  server_.Add("n", "abcdef");
  server_.faults().get_message = [](v1::GetResponse& message) {
    if (message.has_header()) message.mutable_header()->set_offset_bytes(0);
    return true;
  };
  EXPECT_EQ(FetchStatus({"", "n"}, {.offset_bytes = 1, .length_bytes = 2}).code(), absl::StatusCode::kDataLoss);
}

TEST_F(ClientGetTest, GetIsRepeatedBeforeTheFirstByteOnly) {
  server_.Add("n", Pattern(200000));
  server_.faults().before = FailFirst("Get", 2, grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Fetch({"", "n"}), Pattern(200000));
  EXPECT_EQ(server_.Calls("Get"), 3);

  server_.faults().get_status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "going down");
  int messages = 0;
  server_.faults().get_message = [&](v1::GetResponse&) { return ++messages <= 2; };
  EXPECT_EQ(FetchStatus({"", "n"}).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(server_.Calls("Get"), 4);
}

TEST_F(ClientGetTest, GetReturnsTheErrorOfTheSink) {
  server_.Add("n", Pattern(200000));
  const auto status =
      client_.Get({"", "n"}, {}, [](ByteSpan) { return absl::ResourceExhaustedError("disk is full"); }).status();
  EXPECT_EQ(status, absl::ResourceExhaustedError("disk is full"));
}

TEST_F(ClientGetTest, GetBytesHasALimit) {
  server_.Add("n", "abcdef");
  std::string out;
  EXPECT_EQ(client_.GetBytes({"", "n"}, {}, 5, &out).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(client_.GetBytes({"", "n"}, {}, 6, &out).ok());
}

TEST_F(ClientGetTest, AFileAppearsWholeOrNotAtAll) {
  TemporaryDirectory directory;
  server_.Add("n", Pattern(200000));
  WriteFile(directory / "out", "before");
  server_.faults().get_status = grpc::Status(grpc::StatusCode::DATA_LOSS, "damaged");
  EXPECT_EQ(client_.GetToFile({"", "n"}, {}, directory / "out").status(), absl::DataLossError("damaged"));
  EXPECT_EQ(ReadFile(directory / "out"), "before");
  server_.faults().get_status = grpc::Status::OK;
  EXPECT_TRUE(client_.GetToFile({"", "n"}, {}, directory / "out").ok());
  EXPECT_EQ(ReadFile(directory / "out"), Pattern(200000));
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory.path())) ++files;
  EXPECT_EQ(files, 1) << "temporary files were left";
}

TEST_F(ClientGetTest, AFileBehindASymbolicLinkIsReplacedAndTheLinkKept) {
  TemporaryDirectory directory;
  server_.Add("n", "new");
  WriteFile(directory / "real", "old");
  std::filesystem::create_symlink("real", directory / "link");
  EXPECT_TRUE(client_.GetToFile({"", "n"}, {}, directory / "link").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(ReadFile(directory / "real"), "new");
}

TEST_F(ClientGetTest, AFileThatIsReplacedKeepsItsMode) {
  namespace fs = std::filesystem;
  TemporaryDirectory directory;
  server_.Add("n", "new");
  WriteFile(directory / "out", "old");
  for (const unsigned mode : {0600u, 0755u}) {
    fs::permissions(directory / "out", fs::perms(mode));
    EXPECT_TRUE(client_.GetToFile({"", "n"}, {}, directory / "out").ok());
    EXPECT_EQ(ReadFile(directory / "out"), "new");
    EXPECT_EQ(fs::status(directory / "out").permissions(), fs::perms(mode));
  }
}

TEST_F(ClientGetTest, ASymbolicLinkToNothingIsRefusedAndKept) {
  TemporaryDirectory directory;
  server_.Add("n", "new");
  std::filesystem::create_symlink("nothing", directory / "link");
  const absl::Status status = client_.GetToFile({"", "n"}, {}, directory / "link").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_FALSE(std::filesystem::exists(directory / "nothing"));
}

TEST_F(ClientGetTest, ADeviceIsWrittenToAndNotReplaced) {
  TemporaryDirectory directory;
  server_.Add("n", "new");
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  std::string seen;
  std::thread reader([&] { seen = ReadFile(directory / "fifo"); });
  EXPECT_TRUE(client_.GetToFile({"", "n"}, {}, directory / "fifo").ok());
  reader.join();
  EXPECT_EQ(seen, "new");
  EXPECT_TRUE(std::filesystem::is_fifo(directory / "fifo"));
}

}  // namespace
}  // namespace coffer::testing
