// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/kill_run.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "storage/rocks/rocks_engine.h"
#include "tests/support/process.h"

namespace rocksdb {

// RocksDB keeps its declaration to itself. In a library that was built with assertions every kill point is live: the
// process ends there with a probability of one in this many, if it is not 0.
struct KillPoint {
  int rocksdb_kill_odds;
  static KillPoint* GetInstance();
};

}  // namespace rocksdb

namespace coffer::faults {
namespace {

constexpr absl::Duration kLife = absl::Seconds(60);
constexpr char kOpened[] = "opened\n";

// What the child gets on its command line.
struct Life {
  std::string data_dir;
  uint64_t contents_seed = 0;
  uint64_t script_seed = 0;
  uint64_t threads = 1;
  uint64_t operations = 0;
  uint64_t huge_percent = 0;
  // Of a kill point while it opens, and afterwards; 0: none.
  uint64_t start_odds = 0;
  uint64_t odds = 0;

  std::vector<std::string> Arguments() const {
    std::vector<std::string> arguments = {kWork, data_dir};
    for (const uint64_t number : {contents_seed, script_seed, threads, operations, huge_percent, start_odds, odds}) {
      arguments.push_back(absl::StrCat(number));
    }
    return arguments;
  }
  static Life FromArguments(const std::vector<std::string>& arguments) {
    Life life;
    life.data_dir = arguments.at(1);
    size_t next = 2;
    for (uint64_t* number : {&life.contents_seed, &life.script_seed, &life.threads, &life.operations,
                             &life.huge_percent, &life.start_odds, &life.odds}) {
      if (!absl::SimpleAtoi(arguments.at(next++), number)) std::abort();
    }
    return life;
  }
  Script ScriptOf(const Contents& contents) const {
    Script::Mix mix;
    mix.huge_percent = static_cast<int>(huge_percent);
    return Script(script_seed, contents, mix);
  }
};

// In one call, so that a line is there as a whole or not at all.
void Say(const std::string& line) {
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}

uint64_t Below(std::mt19937_64& random, uint64_t limit) {
  return std::uniform_int_distribution<uint64_t>(0, limit - 1)(random);
}

class KillRun {
 public:
  KillRun(const std::string& data_dir, const KillOptions& options)
      : data_dir_(data_dir), options_(options), random_(options.seed), contents_(options.seed), model_(contents_) {}

  CrashReport Run() {
    for (int kill = 0; kill < options_.kills && report_.problems.empty(); ++kill) {
      const Life life = AnyLife();
      Follow(life, LiveAndDie(life));
      if (report_.problems.empty()) OpenAndCompare(data_dir_, nullptr, model_, report_);
    }
    if (report_.problems.empty()) CompareAtTheEnd(data_dir_, nullptr, model_, report_);
    return std::move(report_);
  }

 private:
  Life AnyLife() {
    constexpr uint64_t kOdds[] = {100, 500, 2000};
    Life life;
    life.data_dir = data_dir_;
    life.contents_seed = options_.seed;
    life.script_seed = random_();
    life.threads = options_.threads;
    life.operations = options_.operations;
    life.huge_percent = Below(random_, 2) == 0 ? 15 : 0;
    if (Below(random_, 2) == 0) return life;
    life.odds = kOdds[Below(random_, 3)];
    if (Below(random_, 4) == 0) life.start_odds = 100;
    return life;
  }

  // Returns what it said.
  std::string LiveAndDie(const Life& life) {
    std::vector<std::string> command = life.Arguments();
    command.insert(command.begin(), options_.program);
    testing::Process child(command);
    if (life.odds == 0 && child.WaitForOutput(kOpened, kLife)) {
      absl::SleepFor(absl::Microseconds(Below(random_, 150'000)));
      child.Kill(SIGKILL);
    }
    const testing::ProcessResult result = child.Wait(kLife);
    if (result.exit_code == 128 + SIGKILL || result.exit_code == 128 + SIGTERM) {
      ++report_.crashes;
      if (result.out.find(kOpened) == std::string::npos) ++report_.crashes_in_start;
    } else if (result.exit_code != 0) {
      report_.problems.push_back(absl::StrCat("a child ended with ", result.exit_code, ": ", result.err));
    }
    return result.out;
  }

  // Tells the model what the child did.
  void Follow(const Life& life, const std::string& said) {
    const Script script = life.ScriptOf(contents_);
    std::map<int, std::string> begun;
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      // A kill point says where it is, and the last line may end anywhere.
      if (words[0] == "begin" && words.size() == 4) {
        const int thread = std::stoi(words[1]);
        begun[thread] = words[2];
        model_.Begin(thread, script.At(thread, std::stoull(words[2])));
      }
      if (words[0] != "end" || words.size() != 4) continue;
      const int thread = std::stoi(words[1]);
      if (begun[thread] != words[2]) {
        report_.problems.push_back(absl::StrCat("the child is not understood: ", line));
        return;
      }
      const auto code = static_cast<absl::StatusCode>(std::stoi(words[3]));
      std::string problem = model_.End(thread, absl::Status(code, "said the child"));
      if (!problem.empty()) report_.problems.push_back(std::move(problem));
      ++report_.acknowledged;
    }
  }

  const std::string data_dir_;
  const KillOptions options_;
  std::mt19937_64 random_;
  const Contents contents_;
  Model model_;
  CrashReport report_;
};

}  // namespace

CrashReport RunKills(const std::string& data_dir, const KillOptions& options) {
  CrashReport report = KillRun(data_dir, options).Run();
  for (std::string& problem : report.problems) {
    problem = absl::StrCat("killed, seed ", options.seed, ", threads ", options.threads, ", kill ", report.crashes,
                           ": ", problem);
  }
  return report;
}

int WorkInChild(const std::vector<std::string>& arguments) {
  const Life life = Life::FromArguments(arguments);
  // Threads share the position in a file; only what is appended is never written over.
  if (::fcntl(STDOUT_FILENO, F_SETFL, O_APPEND) != 0) return 1;
  const Contents contents(life.contents_seed);
  const Script script = life.ScriptOf(contents);
  rocksdb::KillPoint::GetInstance()->rocksdb_kill_odds = static_cast<int>(life.start_odds);
  absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({life.data_dir});
  if (!engine.ok()) {
    std::fprintf(stderr, "%s\n", engine.status().ToString().c_str());
    return 1;
  }
  BlobStore store(*std::move(engine), StoreOptions());
  Say(kOpened);
  rocksdb::KillPoint::GetInstance()->rocksdb_kill_odds = static_cast<int>(life.odds);
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < life.threads; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint64_t index = 0; index < life.operations; ++index) {
        Say(absl::StrCat("begin ", thread, " ", index, " .\n"));
        const absl::Status answer = Perform(store, contents, script.At(thread, index));
        Say(absl::StrCat("end ", thread, " ", index, " ", static_cast<int>(answer.code()), "\n"));
        if (!answer.ok() && !absl::IsNotFound(answer)) std::fprintf(stderr, "%s\n", answer.ToString().c_str());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace coffer::faults
