// SPDX-License-Identifier: Apache-2.0
#include "server/offline_commands.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "storage/rocks/offline.h"

namespace coffer {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitDamage = 3;

// What every command has.
struct Target {
  std::string data = "./coffer-data";
  bool json = false;
};

std::shared_ptr<Target> AddTarget(CLI::App& command, const std::string& what) {
  auto target = std::make_shared<Target>();
  command.add_option("--data", target->data, what)->envname("COFFERD_DATA")->capture_default_str();
  command.add_flag("--json", target->json, "Print JSON, one object a line");
  return target;
}

void Print(const std::string& line) { std::printf("%s\n", line.c_str()); }

// Names may be any bytes that were damaged.
void Print(const Json& object) { Print(object.dump(-1, ' ', false, Json::error_handler_t::replace)); }

int Fail(const std::string& command, const absl::Status& status) {
  std::fprintf(stderr, "cofferd %s: %s\n", command.c_str(), std::string(status.message()).c_str());
  return absl::IsDataLoss(status) ? kExitDamage : kExitFailure;
}

void PrintFinding(bool json, const VerifyFinding& finding) {
  const ByteRange& range = finding.range;
  if (json) {
    Print(Json{{"digest", finding.digest.has_value() ? finding.digest->ToHex() : ""},
               {"offset_bytes", range.offset_bytes},
               {"length_bytes", range.length_bytes},
               {"problem", finding.problem}});
  } else if (finding.digest.has_value() && range.length_bytes > 0) {
    Print(absl::StrCat(finding.digest->ToHex(), "  bytes [", range.offset_bytes, ", ",
                       range.offset_bytes + range.length_bytes, ")  ", finding.problem));
  } else {
    Print(finding.problem);
  }
}

// "N/M", 1 <= N <= M.
bool ParseSubset(const std::string& text, CheckOptions& options) {
  const std::vector<std::string> parts = absl::StrSplit(text, '/');
  return parts.size() == 2 && absl::SimpleAtoi(parts[0], &options.subset) &&
         absl::SimpleAtoi(parts[1], &options.subsets) && options.subset >= 1 && options.subset <= options.subsets;
}

int RunCheck(const Target& target, const std::string& subset) {
  CheckOptions options{.data_dir = target.data};
  if (!ParseSubset(subset, options)) {
    std::fprintf(stderr, "cofferd check: --subset is N/M with 1 <= N <= M, got \"%s\"\n", subset.c_str());
    return kExitUsage;
  }
  const VerifyObserver observer{.progress = [](const VerifyProgress&) { return true; },
                                .finding = [&](const VerifyFinding& finding) { PrintFinding(target.json, finding); }};
  const absl::StatusOr<VerifyProgress> result = CheckStore(options, observer);
  if (!result.ok()) return Fail("check", result.status());
  if (target.json) {
    Print(Json{{"checked", target.data},
               {"subset", subset},
               {"blobs_checked", result->blobs_checked},
               {"bytes_checked", result->bytes_checked},
               {"findings", result->findings}});
  } else {
    Print(absl::StrCat(target.data, ": ", result->blobs_checked, " blobs, ", result->bytes_checked, " bytes checked, ",
                       result->findings, " findings"));
  }
  return result->findings > 0 ? kExitDamage : 0;
}

void AddCheck(CLI::App& app, std::function<int()>* chosen) {
  CLI::App* command = app.add_subcommand(
      "check", "Check a store that is not served, and change nothing; exit code 3 if anything is damaged");
  const auto target = AddTarget(*command, "Directory of the store");
  auto subset = std::make_shared<std::string>("1/1");
  command->add_option("--subset", *subset, "N/M: read the content of the Nth of M parts only, everything else whole")
      ->capture_default_str();
  command->callback([=] { *chosen = [=] { return RunCheck(*target, *subset); }; });
}

int RunSalvage(const Target& target) {
  const auto loss = [&](const std::string& what) {
    if (target.json) {
      Print(Json{{"lost", what}});
    } else {
      Print(absl::StrCat("lost: ", what));
    }
  };
  const absl::StatusOr<Salvaged> result = SalvageStore({.data_dir = target.data}, loss);
  if (!result.ok()) return Fail("salvage", result.status());
  if (target.json) {
    Print(Json{{"salvaged", target.data},
               {"log_bytes", result->log_bytes},
               {"blobs_dropped", result->blobs_dropped},
               {"references_dropped", result->references_dropped}});
  } else {
    Print(absl::StrCat(target.data, ": salvaged; lost ", result->log_bytes, " bytes of the log, dropped ",
                       result->blobs_dropped, " blobs and ", result->references_dropped,
                       " names; what the log had is kept in ", target.data, "/salvaged"));
  }
  return 0;
}

void AddSalvage(CLI::App& app, std::function<int()>* chosen) {
  CLI::App* command = app.add_subcommand(
      "salvage", "Go on with a store whose log is damaged, without what was written from the damage on");
  const auto target = AddTarget(*command, "Directory of the store");
  command->callback([=] { *chosen = [=] { return RunSalvage(*target); }; });
}

int RunRestore(const Target& target, const std::string& from) {
  const absl::StatusOr<Restored> result = RestoreStore(from, {.data_dir = target.data});
  if (!result.ok()) return Fail("restore", result.status());
  if (target.json) {
    Print(Json{{"restored", target.data}, {"from", from}, {"blobs", result->blobs}, {"store_id", result->store_id}});
  } else {
    Print(absl::StrCat(target.data, ": restored from ", from, ", ", result->blobs, " blobs checked, store id ",
                       result->store_id));
  }
  return 0;
}

void AddRestore(CLI::App& app, std::function<int()>* chosen) {
  CLI::App* command = app.add_subcommand("restore", "Make a store out of a backup, and check all of it");
  const auto target = AddTarget(*command, "Directory for the store; empty or missing");
  auto from = std::make_shared<std::string>();
  command->add_option("--from", *from, "The backup: a directory NAME under the server's backup directory")->required();
  command->callback([=] { *chosen = [=] { return RunRestore(*target, *from); }; });
}

}  // namespace

void AddOfflineCommands(CLI::App& app, std::function<int()>* chosen) {
  AddCheck(app, chosen);
  AddSalvage(app, chosen);
  AddRestore(app, chosen);
}

}  // namespace coffer
