// SPDX-License-Identifier: Apache-2.0
//
// Where the server listens: HOST:PORT or unix:PATH.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace coffer {

class ListenAddress {
 public:
  // Any free port of 127.0.0.1.
  ListenAddress() = default;

  // INVALID_ARGUMENT, naming the address and what it must look like.
  static absl::StatusOr<ListenAddress> Parse(absl::string_view address);

  bool is_unix() const { return !path_.empty(); }

  // Whether only this machine can connect: a unix socket, "localhost", 127.0.0.0/8 or ::1.
  bool IsLocal() const;

  // FAILED_PRECONDITION if somebody listens there already or the address cannot be used, with the reason. gRPC
  // tells neither, and would take a unix socket away from the process that listens on it.
  absl::Status CheckUnused() const;

  // HOST:PORT or unix:PATH, as gRPC takes it.
  std::string ToString() const { return WithPort(port_); }
  // The same with the port that was taken in the end.
  std::string WithPort(int port) const;

 private:
  std::string host_ = "127.0.0.1";
  uint16_t port_ = 0;
  std::string path_;  // of a unix socket, else empty
};

}  // namespace coffer
