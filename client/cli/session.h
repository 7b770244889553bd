// SPDX-License-Identifier: Apache-2.0
//
// What every command of `coffer` works with: the server, the output, the failures, and whether to stop.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "client/cli/failures.h"
#include "client/cli/output.h"
#include "client/client.h"

namespace coffer::client::cli {

struct GlobalOptions {
  std::string server = "127.0.0.1:7420";
  bool json = false;
  double timeout_seconds = 120;
};

class Session {
 public:
  explicit Session(const GlobalOptions& options);

  // Made when it is first needed. Thread-safe.
  Client& client();
  bool json() const { return options_.json; }
  // stderr is a terminal.
  bool draws_progress() const { return draws_progress_; }
  Output& out() { return out_; }
  Failures& failures() { return failures_; }

  // For the thread that waits for signals: ends all calls; the commands stop at the next chance.
  void Interrupt();
  bool interrupted() const { return interrupted_.load(); }
  // Nothing that is still to be done would reach anybody. What ends because of it, with CANCELLED, is not reported.
  // For any thread.
  bool stopped() const { return interrupted() || out_.stopped(); }

 private:
  const GlobalOptions options_;
  const bool draws_progress_;
  Output out_;
  Failures failures_;
  std::atomic<bool> interrupted_{false};
  std::mutex client_mutex_;
  std::unique_ptr<Client> client_;
};

// What a chosen command does; failures go to the session.
using Command = std::function<void(Session&)>;

// Calls made at the same time by one command. More gain nothing on one connection; a put holds about 3 MiB.
inline constexpr int kConcurrentCalls = 16;
// Results that may wait for an older one that is still under way.
inline constexpr size_t kResultWindow = 4096;

// 64 lower-case hex digits are a digest, anything else is a name.
Selector SelectorOf(const std::string& bucket, const std::string& name_or_digest);

}  // namespace coffer::client::cli
