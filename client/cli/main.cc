// SPDX-License-Identifier: Apache-2.0
//
// The `coffer` command. Signals:
//  1. SIGINT, SIGTERM and SIGHUP are blocked before any thread is made and taken by one thread;
//  2. it cancels the calls under way, so that the command unwinds and removes its temporary files;
//  3. what does not unwind soon (a read from a terminal) is left: the process exits with 128 + the signal;
//  4. SIGPIPE is ignored; a reader that has gone is seen by the write (exit code 141, as shells report it).
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <future>
#include <thread>

#include "client/cli/commands.h"

namespace coffer::client::cli {
namespace {

// Enough to remove temporary files.
constexpr std::chrono::seconds kUnwindTime(1);

// Steps 1 to 3.
class SignalThread {
 public:
  explicit SignalThread(Session& session) {
    ::signal(SIGPIPE, SIG_IGN);
    ::sigemptyset(&signals_);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, kStop}) ::sigaddset(&signals_, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this, &session] { Run(session); });
  }
  ~SignalThread() {
    unwound_.set_value();
    ::pthread_kill(thread_.native_handle(), kStop);
    thread_.join();
  }
  // The signal that came; 0: none.
  int signal() const { return signal_.load(); }

 private:
  static constexpr int kStop = SIGUSR1;

  void Run(Session& session) {
    int signal = 0;
    if (::sigwait(&signals_, &signal) != 0 || signal == kStop) return;
    signal_.store(signal);
    session.Interrupt();
    if (unwound_.get_future().wait_for(kUnwindTime) == std::future_status::timeout) {
      ::_exit(kExitSignalBase + signal);
    }
  }

  sigset_t signals_;
  std::atomic<int> signal_{0};
  std::promise<void> unwound_;
  std::thread thread_;
};

int RunCommand(const Command& command, const GlobalOptions& options) {
  // Never destroyed: destroying the last channel shuts gRPC down, which after a cancelled stream now and then waits
  // ten seconds for nothing. Everything is flushed when this returns.
  Session& session = *new Session(options);
  SignalThread signals(session);
  command(session);
  session.failures().Report("", session.out().Flush());
  if (signals.signal() != 0) return kExitSignalBase + signals.signal();
  if (session.out().closed()) return kExitSignalBase + SIGPIPE;
  return session.failures().exit_code();
}

int Main(int argc, char** argv) {
  CLI::App app("Client of a coffer server, a content-addressed blob store", "coffer");
  app.set_version_flag("--version", "coffer " COFFER_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Exit codes: 0 ok, 1 failure, 2 usage, 3 integrity, 4 not found, 5 permission, 6 unavailable,\n"
      "7 no space; 130 after SIGINT. After \"--\" everything is a name, also if it starts with a dash.");
  GlobalOptions options;
  AddValue(app, "--server", &options.server, "Address of the server, HOST:PORT; 127.0.0.1:7420 if not given")
      ->envname("COFFER_SERVER");
  app.add_flag("--json", options.json, "Print JSON, one object a line");
  app.add_option("--timeout", options.timeout_seconds,
                 "Give up when the server does nothing for so many seconds; 120 if not given")
      ->check(CLI::Range(0.001, 1e9));
  Command command;
  AddPut(app, &command);
  AddGet(app, &command);
  AddLs(app, &command);
  AddStat(app, &command);
  AddRm(app, &command);
  AddVerify(app, &command);
  AddBucket(app, &command);
  AddStatus(app, &command);
  AddHash(app, &command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "coffer: %s\nRun \"coffer --help\" or \"coffer COMMAND --help\".\n", error.what());
    return kExitUsage;
  }
  return RunCommand(command, options);
}

}  // namespace
}  // namespace coffer::client::cli

int main(int argc, char** argv) {
  const int exit_code = coffer::client::cli::Main(argc, argv);
  std::fflush(stdout);
  // Not exit(): gRPC's threads are still there, and must not see static objects go.
  ::_exit(exit_code);
}
