// SPDX-License-Identifier: Apache-2.0
#include "client/cli/session.h"

#include <unistd.h>

namespace coffer::client::cli {

Session::Session(const GlobalOptions& options)
    : options_(options),
      draws_progress_(::isatty(STDERR_FILENO) == 1),
      out_(draws_progress_ && ::isatty(STDOUT_FILENO) == 1) {}

Client& Session::client() {
  std::lock_guard<std::mutex> lock(client_mutex_);
  if (client_ == nullptr) {
    ClientOptions options;
    options.idle_timeout = absl::Seconds(options_.timeout_seconds);
    options.deadline = options.idle_timeout;
    client_ = std::make_unique<Client>(options_.server, options);
    if (interrupted()) client_->Cancel();
  }
  return *client_;
}

void Session::Interrupt() {
  interrupted_.store(true);
  std::lock_guard<std::mutex> lock(client_mutex_);
  if (client_ != nullptr) client_->Cancel();
}

Selector SelectorOf(const std::string& bucket, const std::string& name_or_digest) {
  const absl::StatusOr<Digest> digest = Digest::FromHex(name_or_digest);
  if (digest.ok()) return {bucket, *digest};
  return {bucket, name_or_digest};
}

}  // namespace coffer::client::cli
