// SPDX-License-Identifier: Apache-2.0
#include "client/cli/server_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace coffer::client::cli {
namespace {

using ::testing::HasSubstr;

TEST(ServerAddress, HostWithPortOrSocketIsAccepted) {
  for (const std::string address : {"127.0.0.1:7420", "localhost:1", "store-1.example.org:65535", "[::1]:7420",
                                    "unix:/run/coffer.sock", "unix:relative"}) {
    EXPECT_TRUE(CheckServerAddress(address).ok()) << address;
  }
}

TEST(ServerAddress, AnythingElseIsRefusedByItsNameAndToldWhatWouldBeRight) {
  for (const std::string address : {"127.0.0.1:72956", "127.0.0.1:0", "127.0.0.1:", "127.0.0.1:+1", "127.0.0.1:-1",
                                    "127.0.0.1: 1", "127.0.0.1", "127.0.0.1:99999999999", "garbage",
                                    "http://127.0.0.1:7420", "::1:7420", "[]:1", ":7420", "a b:1", "unix:", ""}) {
    const absl::Status status = CheckServerAddress(address);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << address;
    EXPECT_THAT(std::string(status.message()), HasSubstr("\"" + address + "\""));
    EXPECT_THAT(std::string(status.message()), HasSubstr("HOST:PORT, with a port of 1 to 65535"));
  }
  EXPECT_FALSE(CheckServerAddress("unix:" + std::string(108, 'p')).ok());
}

}  // namespace
}  // namespace coffer::client::cli
