// SPDX-License-Identifier: Apache-2.0
//
// A client with a server that does as the test says.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "client/client.h"
#include "tests/support/fake_server.h"
#include "tests/support/samples.h"

namespace coffer::testing {

// These tests speak of nothing else.
using namespace client;

inline constexpr uint64_t kNoLimit = uint64_t{1} << 30;

inline std::string Pattern(size_t size_bytes) {
  std::string content(size_bytes, '\0');
  for (size_t i = 0; i < size_bytes; ++i) content[i] = static_cast<char>((i * 2654435761u) >> 13);
  return content;
}

inline ClientOptions Impatient() {
  ClientOptions options;
  options.deadline = absl::Seconds(20);
  options.retry.first_backoff = absl::Milliseconds(1);
  return options;
}

// Fails the first `times` calls of `rpc`.
inline std::function<grpc::Status(const std::string&)> FailFirst(const std::string& rpc, int times,
                                                                 grpc::StatusCode code) {
  auto left = std::make_shared<std::atomic<int>>(times);
  return [=](const std::string& called) {
    if (called == rpc && left->fetch_sub(1) > 0) return grpc::Status(code, "as told");
    return grpc::Status::OK;
  };
}

class ClientTest : public ::testing::Test {
 protected:
  std::string Fetch(const Selector& blob, const GetOptions& options = {}) {
    std::string out;
    const auto result = client_.GetBytes(blob, options, kNoLimit, &out);
    return result.ok() ? out : result.status().ToString();
  }
  absl::Status FetchStatus(const Selector& blob, const GetOptions& options = {}) {
    return client_.Get(blob, options, [](ByteSpan) { return absl::OkStatus(); }).status();
  }

  FakeServer server_;
  Client client_{server_.address(), Impatient()};
};

}  // namespace coffer::testing
