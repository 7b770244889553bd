// SPDX-License-Identifier: Apache-2.0
//
// cofferd: opens the store, serves it, and stops when told to.
//
//   1. signals are blocked before the first thread starts, so that only the main thread takes them;
//   2. store opened (which locks the data directory), port taken; any failure is one line on stderr and exit code 1;
//   3. one line on stdout says where it listens;
//   4. SIGTERM or SIGINT: drain, at most kDrainLimit, then exit code 0. A second signal, or a disk that does not
//      answer, ends the process at once with 1: everything that was acknowledged is durable already.
#include <fcntl.h>
#include <grpc/support/log.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hashing/kernel.h"
#include "hashing/worker_pool.h"
#include "server/file_descriptor.h"
#include "server/listen_address.h"
#include "server/offline_commands.h"
#include "server/server.h"
#include "storage/blob_store.h"
#include "storage/rocks/rocks_engine.h"

namespace coffer {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
// Long enough for a put of some GiB to end; with hanging up and closing it stays below 30 seconds.
constexpr std::chrono::seconds kDrainLimit{28};
// What cutting calls off and closing the database may take after the drain, unless the disk hangs.
constexpr std::chrono::seconds kCloseLimit{15};

struct Flags {
  std::string data = "./coffer-data";
  std::string listen = "127.0.0.1:7420";
  bool allow_plaintext = false;
  std::string log_file;
  std::string log_level = "info";
  std::string pid_file;
  std::string backup_dir;
};

// A standard descriptor that the caller closed would be given to the next file, and log lines would go into the lock
// file or a socket.
__attribute__((no_sanitize("address", "undefined"))) void OccupyClosedDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // open() takes the lowest free descriptor, which is this one.
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", O_RDWR);
  }
}

// Not in main(): gRPC opens an eventfd while its library is initialised.
__attribute__((section(".preinit_array"), used)) void (*occupy_first)() = OccupyClosedDescriptors;

// FAILED_PRECONDITION if the data directory has something in it that no cofferd put there. Writes nothing.
absl::Status CheckDataDirectory(const std::string& data) {
  namespace fs = std::filesystem;
  std::error_code error;
  // A path that is missing is made, and one that cannot be used is refused, by the engine.
  if (!fs::is_directory(data, error)) return absl::OkStatus();
  std::string stranger;
  for (fs::directory_iterator it(data, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name == "cofferd.lock" || name == "db") return absl::OkStatus();
    // What mkfs puts into a fresh filesystem is nobody's data.
    if (name != "lost+found") stranger = name;
  }
  if (error) return absl::FailedPreconditionError(absl::StrCat("cannot list ", data, ": ", error.message()));
  if (stranger.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("refusing to use ", data, " as data directory: it is not empty (it contains ", stranger,
                   ") and has no store in it; name an empty directory or one that does not exist"));
}

sigset_t BlockStopSignals() {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// The signals that stop the server, blocked in this thread and in all that it starts.
class StopSignals {
 public:
  static constexpr int kDone = -1;
  static constexpr int kTimeout = 0;

  StopSignals() : signals_(BlockStopSignals()), fd_(::signalfd(-1, &signals_, SFD_CLOEXEC)) {}

  // The next signal; or kDone when `done` becomes readable, or kTimeout.
  int Wait(int done = -1, std::chrono::milliseconds limit = std::chrono::milliseconds(-1)) const {
    pollfd fds[] = {{fd_.get(), POLLIN, 0}, {done, POLLIN, 0}};
    int ready;
    do {
      ready = ::poll(fds, 2, static_cast<int>(limit.count()));
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) return kTimeout;
    if ((fds[1].revents & POLLIN) != 0) return kDone;
    signalfd_siginfo info{};
    return ::read(fd_.get(), &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo) : SIGTERM;
  }

 private:
  const sigset_t signals_;
  const FileDescriptor fd_;
};

// Holds the process id while the server runs.
class PidFile {
 public:
  static absl::StatusOr<std::unique_ptr<PidFile>> Write(const std::string& path) {
    std::ofstream file(path, std::ios::trunc);
    file << ::getpid() << "\n";
    file.close();
    if (!file) {
      return absl::FailedPreconditionError(absl::StrCat("cannot write pid file ", path, ": ", std::strerror(errno)));
    }
    return std::unique_ptr<PidFile>(new PidFile(path));
  }
  ~PidFile() { ::unlink(path_.c_str()); }

 private:
  explicit PidFile(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

// gRPC's own lines are for debugging: what matters to an operator comes back as a status.
void LogGrpcLine(gpr_log_func_args* line) { spdlog::debug("gRPC: {}", line->message); }

void LogNotice(const std::string& notice) { spdlog::warn("{}", notice); }

absl::Status StartLog(const Flags& flags) {
  try {
    spdlog::sink_ptr sink;
    if (flags.log_file.empty()) {
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(flags.log_file);
    }
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("cofferd", sink));
  } catch (const spdlog::spdlog_ex& error) {
    return absl::FailedPreconditionError(absl::StrCat("cannot open the log: ", error.what()));
  }
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  spdlog::set_level(spdlog::level::from_str(flags.log_level));
  spdlog::flush_on(spdlog::level::info);
  ::gpr_set_log_function(LogGrpcLine);
  return absl::OkStatus();
}

// Ends the process if `stop` does not return in time or another signal comes: `stop` cannot be interrupted.
void StopWithin(std::chrono::seconds limit, const StopSignals& signals, const std::function<void()>& stop) {
  const FileDescriptor done(::eventfd(0, EFD_CLOEXEC));
  std::thread stopper([&stop, &done] {
    stop();
    ::eventfd_write(done.get(), 1);
  });
  const int event = signals.Wait(done.get(), limit);
  if (event != StopSignals::kDone) {
    const std::string why = event == StopSignals::kTimeout
                                ? absl::StrCat("not stopped within ", limit.count(), " seconds")
                                : absl::StrCat("second signal ", event);
    std::fprintf(stderr, "cofferd: %s: ending at once; all that was acknowledged is durable\n", why.c_str());
    std::_Exit(kExitFailure);
  }
  stopper.join();
}

absl::Status Serve(const Flags& flags, const ListenAddress& address, const StopSignals& signals) {
  // Before the log, which may be in there.
  if (absl::Status status = CheckDataDirectory(flags.data); !status.ok()) return status;
  if (absl::Status status = StartLog(flags); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Engine>> engine =
      OpenRocksEngine(RocksOptions{.data_dir = flags.data, .keeps_ballast = true, .notice = LogNotice});
  if (!engine.ok()) return engine.status();
  WorkerPool hash_workers(std::thread::hardware_concurrency());
  BlobStore::Options store_options;
  store_options.hash_workers = &hash_workers;
  store_options.report_collector = [](const absl::Status& status) {
    spdlog::error("reclaiming garbage: {}", status.ToString());
  };
  store_options.backup_dir = flags.backup_dir;
  store_options.scrubs = true;
  store_options.report_finding = [](const VerifyFinding& finding) { spdlog::error("scrub: {}", finding.problem); };
  auto store = std::make_unique<BlobStore>(*std::move(engine), std::move(store_options));

  ServerOptions options;
  options.listen = address;
  options.report_failure = [](absl::string_view rpc, const absl::Status& status) {
    spdlog::error("{}: {}", std::string(rpc), status.ToString());
  };
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(std::move(options), *store);
  if (!server.ok()) return server.status();
  std::unique_ptr<PidFile> pid_file;
  if (!flags.pid_file.empty()) {
    absl::StatusOr<std::unique_ptr<PidFile>> written = PidFile::Write(flags.pid_file);
    if (!written.ok()) return written.status();
    pid_file = *std::move(written);
  }
  const std::string where = address.WithPort((*server)->port());
  std::printf("cofferd listening on %s\n", where.c_str());
  std::fflush(stdout);
  spdlog::info("cofferd {} listening on {}, data in {}, hash kernel {}", COFFER_VERSION, where, flags.data,
               ActiveKernelName());

  const int signal = signals.Wait();
  spdlog::info("signal {}: stopping, at most {} seconds", signal, kDrainLimit.count());
  StopWithin(kDrainLimit + kCloseLimit, signals, [&server, &store] {
    (*server)->Shutdown(absl::Now() + absl::FromChrono(kDrainLimit));
    server->reset();
    store.reset();
  });
  spdlog::info("stopped");
  return absl::OkStatus();
}

void AddFlags(CLI::App& app, Flags& flags) {
  app.set_version_flag("--version", std::string("cofferd ") + COFFER_VERSION);
  app.add_option("--data", flags.data, "Directory of the store; made if it does not exist")
      ->envname("COFFERD_DATA")
      ->capture_default_str();
  app.add_option("--listen", flags.listen, "HOST:PORT (port 0: any free one) or unix:PATH")
      ->envname("COFFERD_LISTEN")
      ->capture_default_str();
  app.add_flag("--allow-plaintext", flags.allow_plaintext,
               "Listen beyond this machine although there is no access control and no TLS yet")
      ->envname("COFFERD_ALLOW_PLAINTEXT");
  app.add_option("--log-file", flags.log_file, "Append the log to this file instead of stderr")
      ->envname("COFFERD_LOG_FILE");
  app.add_option("--log-level", flags.log_level, "trace, debug, info, warning, error or off")
      ->envname("COFFERD_LOG_LEVEL")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}))
      ->capture_default_str();
  app.add_option("--backup-dir", flags.backup_dir, "Directory under which backups are made; none if not given")
      ->envname("COFFERD_BACKUP_DIR");
  app.add_option("--pid-file", flags.pid_file, "Write the process id here while running")->envname("COFFERD_PID_FILE");
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("The coffer server: a content-addressed blob store over gRPC.", "cofferd");
  AddFlags(app, flags);
  std::function<int()> offline;
  AddOfflineCommands(app, &offline);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  if (offline) return offline();
  const absl::StatusOr<ListenAddress> address = ListenAddress::Parse(flags.listen);
  if (!address.ok()) {
    std::fprintf(stderr, "cofferd: %s\n", std::string(address.status().message()).c_str());
    return kExitUsage;
  }
  if (!address->IsLocal() && !flags.allow_plaintext) {
    std::fprintf(stderr,
                 "cofferd: refusing to listen on %s: there is no access control and no TLS yet, so everybody who "
                 "reaches it could read and delete everything; use a loopback address, or --allow-plaintext\n",
                 flags.listen.c_str());
    return kExitUsage;
  }
  const StopSignals signals;
  if (absl::Status status = Serve(flags, *address, signals); !status.ok()) {
    std::fprintf(stderr, "cofferd: %s\n", std::string(status.message()).c_str());
    return kExitFailure;
  }
  return 0;
}

}  // namespace
}  // namespace coffer

int main(int argc, char** argv) {
  // Data, log, pid file and unix socket are for the owner alone.
  ::umask(077);
  return coffer::Main(argc, argv);
}
