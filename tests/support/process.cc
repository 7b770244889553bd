// SPDX-License-Identifier: Apache-2.0
#include "tests/support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/time/clock.h"

namespace coffer::testing {
namespace {

constexpr absl::Duration kPollPeriod = absl::Milliseconds(5);

std::string Contents(int fd) {
  std::string text;
  char buffer[65536];
  ssize_t count;
  while ((count = ::pread(fd, buffer, sizeof(buffer), static_cast<off_t>(text.size()))) > 0) {
    text.append(buffer, count);
  }
  return text;
}

// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void Become(char* const* arguments, char* const* environment, const char* directory, int in, int out,
                         int err) {
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (directory[0] == '\0' || ::chdir(directory) == 0) ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

int OpenInput(const ProcessOptions& options) {
  if (options.input.has_value()) {
    const int fd = ::memfd_create("stdin", MFD_CLOEXEC);
    size_t written = 0;
    while (written < options.input->size()) {
      const ssize_t count = ::write(fd, options.input->data() + written, options.input->size() - written);
      if (count <= 0) break;
      written += count;
    }
    ::lseek(fd, 0, SEEK_SET);
    return fd;
  }
  const char* path = options.input_path.empty() ? "/dev/null" : options.input_path.c_str();
  return ::open(path, O_RDONLY | O_CLOEXEC);
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!options.environment.contains(text.substr(0, text.find('=')))) variables.push_back(text);
  }
  for (const auto& [label, value] : options.environment) variables.push_back(label + "=" + value);
  std::vector<char*> envp;
  for (const std::string& variable : variables) envp.push_back(const_cast<char*>(variable.c_str()));
  envp.push_back(nullptr);

  out_fd_ = ::memfd_create("stdout", MFD_CLOEXEC);
  err_fd_ = ::memfd_create("stderr", MFD_CLOEXEC);
  const int in_fd = OpenInput(options);
  pid_ = ::fork();
  if (pid_ == 0) Become(argv.data(), envp.data(), options.directory.c_str(), in_fd, out_fd_, err_fd_);
  ::close(in_fd);
}

Process::~Process() {
  if (running()) {
    Kill(SIGKILL);
    Reap(true);
  }
  ::close(out_fd_);
  ::close(err_fd_);
}

bool Process::Reap(bool block) {
  if (exit_code_.has_value()) return true;
  int status = 0;
  pid_t found;
  do {
    found = ::waitpid(pid_, &status, block ? 0 : WNOHANG);
  } while (found < 0 && errno == EINTR);
  if (found != pid_) return false;
  exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return true;
}

bool Process::running() { return !Reap(false); }

void Process::Kill(int signal) {
  if (running()) ::kill(pid_, signal);
}

ProcessResult Process::Wait(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (running() && absl::Now() < deadline) absl::SleepFor(kPollPeriod);
  ProcessResult result;
  if (running()) {
    Kill(SIGKILL);
    Reap(true);
  } else {
    result.exit_code = *exit_code_;
  }
  result.out = Contents(out_fd_);
  result.err = Contents(err_fd_);
  return result;
}

std::string Process::Output() const { return Contents(out_fd_); }

bool Process::WaitForOutput(const std::string& text, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (true) {
    const bool was_running = running();
    if (Contents(out_fd_).find(text) != std::string::npos) return true;
    if (!was_running || absl::Now() >= deadline) return false;
    absl::SleepFor(kPollPeriod);
  }
}

ProcessResult RunProgram(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  return Process(arguments, options).Wait();
}

void WriteFile(const std::string& path, const std::string& content) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::ofstream(path, std::ios::binary) << content;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return "(missing)";
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

}  // namespace coffer::testing
