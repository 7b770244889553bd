// SPDX-License-Identifier: Apache-2.0
//
// The `coffer` command. Signals:
//  1. SIGINT, SIGTERM and SIGHUP are blocked before any thread is made and taken by one thread;
//  2. it cancels the calls under way, so that the command unwinds and removes its temporary files;
//  3. what does not unwind soon (a read from a terminal) is left: the process exits with 128 + the signal;
//  4. SIGPIPE is ignored; a reader that has gone is seen by the write (exit code 141, as shells report it).
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/server_address.h"

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

// A standard descriptor that the caller closed would be given to the next file or socket, and what is meant for the
// descriptor would go there. Opened the wrong way round, so that reading or writing it is still an error.
__attribute__((no_sanitize("address", "undefined"))) void OccupyClosedDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free descriptor, which is this one.
    (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// Not in main(): gRPC opens an eventfd while its library is initialised.
__attribute__((section(".preinit_array"), used)) void (*occupy_first)() = OccupyClosedDescriptors;

// What is wrong with a command line; CLI11 does not always name it.
std::string Explain(const CLI::App& app, const std::vector<const char*>& line, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(true);
  if (unknown.empty()) return error.what();
  const std::string& first = unknown.front();
  const bool is_option = first.size() > 1 && first[0] == '-';
  const std::vector<CLI::App*> commands = app.get_subcommands();
  if (commands.empty()) return absl::StrCat("unknown ", is_option ? "option" : "command", " \"", first, "\"");
  std::string text = absl::StrCat(is_option ? "unknown option" : "unexpected argument", " \"", first, "\"");
  const std::string command = commands.front()->get_name();
  if (std::find(line.begin(), line.end(), first) < std::find(line.begin(), line.end(), command)) {
    absl::StrAppend(&text, " before \"", command, "\"; what belongs to a command stands after it");
  }
  return text;
}

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
      "7 no space; 130 after SIGINT, 141 when the reader of a pipe goes away.\n"
      "After \"--\" everything is a name, also if it starts with a dash.");
  GlobalOptions options;
  AddValue(app, "--server", &options.server,
           "Address of the server, HOST:PORT or unix:PATH; 127.0.0.1:7420 if not given")
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
  AddBackup(app, &command);
  AddGc(app, &command);
  AddScrub(app, &command);
  AddHash(app, &command);
  std::vector<const char*> line(argv, argv + argc);
  if (argc > 1 && line[1] == std::string("help")) {
    line.erase(line.begin() + 1);
    line.push_back("--help");
  }
  try {
    app.parse(static_cast<int>(line.size()), line.data());
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "coffer: %s\nRun \"coffer --help\" or \"coffer COMMAND --help\".\n",
                 Explain(app, line, error).c_str());
    return kExitUsage;
  }
  // "hash" needs no server.
  if (absl::Status status = CheckServerAddress(options.server); !status.ok() && !app.got_subcommand("hash")) {
    std::fprintf(stderr, "coffer: %s\n", std::string(status.message()).c_str());
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
