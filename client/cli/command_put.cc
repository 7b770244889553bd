// SPDX-License-Identifier: Apache-2.0
//
// coffer put. The paths are walked twice: first to find every usage error before anything is sent (and to know
// the total), then to send. So a million files need no list of them.
#include <unistd.h>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/in_order.h"
#include "client/cli/progress.h"
#include "client/cli/walk.h"

namespace coffer::client::cli {
namespace {

struct PutArguments {
  std::vector<std::string> paths;
  bool recursive = false;
  bool has_name = false;
  PutOptions options;
};

// Looks at all inputs. False if there is a usage error; it is reported.
bool CheckInputs(const PutArguments& arguments, Session& session, Progress& progress) {
  absl::flat_hash_set<std::string> names;
  const bool may_collide = arguments.paths.size() > 1;
  const bool single_only = arguments.has_name || arguments.options.expected_digest.has_value();
  uint64_t inputs = 0;
  bool usable = true;
  const auto refuse = [&](const std::string& message) {
    session.failures().ReportUsage(message);
    usable = false;
  };
  Walk(arguments.paths, arguments.recursive,
       {.file =
            [&](const Input& input) {
              progress.AddTotalBytes(input.size_bytes);
              if (single_only && ++inputs > 1) {
                refuse(absl::StrCat(arguments.has_name ? "-n" : "--expect",
                                    " is for a single input, and there is also ", input.path));
                return false;
              }
              if (!may_collide || names.insert(input.name).second) return true;
              refuse(input.name.empty() ? std::string("- (standard input) is given twice")
                                        : absl::StrCat("two inputs have the name ", input.name, ", the second is ",
                                                       input.path, "; nothing was sent"));
              return false;
            },
        .skipped = [](const std::string&) {},
        .failed =
            [&](const std::string& path, const absl::Status& status) {
              // What cannot be read is reported by the second walk.
              if (absl::IsInvalidArgument(status)) refuse(absl::StrCat(path, " ", status.message()));
            }});
  return usable;
}

struct PutOutcome {
  Input input;
  absl::StatusOr<PutResult> result = absl::UnknownError("");
};

PutOutcome PutInput(Session& session, Input input, PutOptions options, Progress& progress) {
  PutOutcome outcome;
  if (!options.name.empty()) input.name = options.name;
  options.name = input.name;
  options.progress = [&progress](int64_t bytes) { progress.AddBytes(bytes); };
  absl::StatusOr<std::unique_ptr<FileSource>> source =
      input.path == "-" ? FileSource::FromFd(UniqueFd(::dup(STDIN_FILENO)), "standard input")
      : input.found     ? FileSource::OpenRegular(input.path)
                        : FileSource::Open(input.path);
  outcome.result = source.ok() ? session.client().Put(**source, options) : source.status();
  outcome.input = std::move(input);
  progress.AddItem();
  return outcome;
}

void Print(Session& session, const std::string& bucket, const PutOutcome& outcome) {
  if (!outcome.result.ok()) {
    if (session.stopped() && absl::IsCancelled(outcome.result.status())) return;
    session.failures().Report(outcome.input.path, outcome.result.status());
    return;
  }
  const PutResult& result = *outcome.result;
  if (!session.json()) {
    session.out().Line(B3sumLine(result.digest, result.name));
    return;
  }
  session.out().Object({{"bucket", bucket.empty() ? "default" : bucket},
                        {"name", result.name},
                        {"digest", result.digest.ToHex()},
                        {"size_bytes", result.size_bytes},
                        {"deduplicated", result.deduplicated}});
}

void RunPut(const PutArguments& arguments, Session& session) {
  Progress progress(session.draws_progress(), "files");
  if (!CheckInputs(arguments, session, progress)) return;
  uint64_t skipped = 0;
  InOrder<PutOutcome> puts(arguments.paths.size() == 1 && !arguments.recursive ? 1 : kConcurrentCalls, kResultWindow,
                           [&](PutOutcome outcome) { Print(session, arguments.options.bucket, outcome); });
  Walk(arguments.paths, arguments.recursive,
       {.file =
            [&](const Input& input) {
              puts.Add([&session, &arguments, &progress, input] {
                if (session.stopped()) return PutOutcome{input, absl::CancelledError("")};
                return PutInput(session, input, arguments.options, progress);
              });
              return !session.stopped();
            },
        .skipped = [&](const std::string&) { ++skipped; },
        .failed = [&](const std::string& path,
                      const absl::Status& status) { session.failures().Report(path, status); }});
  puts.Finish();
  if (skipped > 0 && !session.stopped()) {
    std::fprintf(stderr, "coffer: skipped %llu symbolic links, sockets, devices or FIFOs\n",
                 static_cast<unsigned long long>(skipped));
  }
}

// "K=V" pairs. False if one is not; it is reported.
bool ParseMetadata(const std::vector<std::string>& pairs, Session& session, Metadata* metadata) {
  for (const std::string& pair : pairs) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      session.failures().ReportUsage(absl::StrCat("--meta ", pair, " is not of the form KEY=VALUE"));
      return false;
    }
    if (!metadata->emplace(absl::AsciiStrToLower(pair.substr(0, equals)), pair.substr(equals + 1)).second) {
      session.failures().ReportUsage(absl::StrCat("--meta ", pair, " repeats a key"));
      return false;
    }
  }
  return true;
}

}  // namespace

void AddPut(CLI::App& app, Command* chosen) {
  CLI::App* command = app.add_subcommand("put", "Store files; prints \"DIGEST  NAME\" as b3sum does");
  auto arguments = std::make_shared<PutArguments>();
  auto expected = std::make_shared<std::string>();
  CLI::Option* paths = AddOperands(*command, "PATH", "Files, directories with -r, or - for standard input");
  paths->required();
  AddBucketOption(*command, &arguments->options.bucket);
  CLI::Option* name = AddValue(*command, "-n,--name", &arguments->options.name,
                               "Name of the reference, for a single input; else the file's base name");
  CLI::Option* expect = AddValue(*command, "--expect", expected.get(),
                                 "Store nothing unless the content has this digest (64 hex digits)");
  CLI::Option* meta = AddVerbatim(*command, "--meta", "Metadata KEY=VALUE; may be repeated");
  command->add_flag("-r,--recursive", arguments->recursive,
                    "Put the files below directories, named by their paths relative to them");
  command->callback([=] {
    arguments->paths = paths->results();
    arguments->has_name = name->count() > 0;
    *chosen = [=](Session& session) {
      for (const std::string& path : arguments->paths) {
        if (path.empty()) return session.failures().ReportUsage("put: the path \"\" is empty; - is standard input");
      }
      if (arguments->has_name && arguments->options.name.empty()) {
        session.failures().ReportUsage("-n: a name has 1 to 1024 bytes, got 0");
        return;
      }
      if (expect->count() > 0) {
        const absl::StatusOr<Digest> digest = Digest::FromHex(absl::AsciiStrToLower(*expected));
        if (!digest.ok()) {
          session.failures().ReportUsage(absl::StrCat("--expect: ", digest.status().message()));
          return;
        }
        arguments->options.expected_digest = *digest;
      }
      if (!ParseMetadata(meta->results(), session, &arguments->options.metadata)) return;
      RunPut(*arguments, session);
    };
  });
}

}  // namespace coffer::client::cli
