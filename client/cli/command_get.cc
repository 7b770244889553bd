// SPDX-License-Identifier: Apache-2.0
//
// coffer get: one blob to stdout or a file, or with --prefix many to a directory (command_get_many.cc).
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/progress.h"
#include "client/part_file.h"

namespace coffer::client::cli {
namespace {

struct GetArguments {
  std::string bucket, output, prefix, directory;
  GetOptions options;
};

void RunGetOne(const GetArguments& arguments, const std::string& name_or_digest, Session& session) {
  const bool to_stdout = arguments.output.empty() || arguments.output == "-";
  Progress progress(session.draws_progress() && !(to_stdout && ::isatty(STDOUT_FILENO) == 1), "blobs");
  GetOptions options = arguments.options;
  options.header = [&](const GetResult& header) { progress.AddTotalBytes(header.length_bytes); };
  options.progress = [&](int64_t bytes) { progress.AddBytes(bytes); };
  const Selector blob = SelectorOf(arguments.bucket, name_or_digest);
  bool reader_gone = false;
  const absl::StatusOr<GetResult> result =
      to_stdout ? session.client().Get(blob, options,
                                       [&](ByteSpan bytes) {
                                         absl::Status status = WriteAll(STDOUT_FILENO, bytes, "standard output");
                                         if (!status.ok() && errno == EPIPE) reader_gone = true;
                                         return status;
                                       })
                : session.client().GetToFile(blob, options, arguments.output);
  if (reader_gone) {
    session.failures().SetExitCode(kExitSignalBase + SIGPIPE);
  } else if (!result.ok()) {
    if (session.interrupted() && absl::IsCancelled(result.status())) return;
    session.failures().Report(name_or_digest, result.status());
  } else if (session.json() && !to_stdout) {
    session.out().Object({{"path", arguments.output},
                          {"digest", result->digest.ToHex()},
                          {"size_bytes", result->size_bytes},
                          {"offset_bytes", result->offset_bytes},
                          {"length_bytes", result->length_bytes},
                          {"metadata", result->metadata}});
  }
}

}  // namespace

void AddGet(CLI::App& app, Command* chosen) {
  CLI::App* command = app.add_subcommand("get", "Fetch a blob to stdout or a file, or many to a directory");
  auto arguments = std::make_shared<GetArguments>();
  CLI::Option* blob = AddVerbatim(*command, "BLOB", "A name, or a digest (64 hex digits)");
  AddBucketOption(*command, &arguments->bucket);
  CLI::Option* output = AddValue(*command, "-o,--output", &arguments->output, "File that appears whole or not at all");
  CLI::Option* offset =
      AddByteCount(*command, "--offset", &arguments->options.offset_bytes, "First byte; 0 if not given");
  CLI::Option* length = AddByteCount(*command, "--length", &arguments->options.length_bytes,
                                     "How many bytes; 0, or if not given: to the end");
  CLI::Option* prefix = AddValue(*command, "--prefix", &arguments->prefix,
                                 "Fetch every name that starts with this; \"\" for all of the bucket");
  CLI::Option* directory =
      AddValue(*command, "--to", &arguments->directory, "Directory to write them to, by their names");
  prefix->needs(directory);
  directory->needs(prefix);
  for (CLI::Option* single : {blob, output, offset, length}) prefix->excludes(single);
  command->callback([=] {
    if (prefix->count() == 0 && blob->count() == 0) throw CLI::RequiredError("BLOB, or --prefix with --to,");
    *chosen = [=](Session& session) {
      if (output->count() > 0 && arguments->output.empty()) {
        session.failures().ReportUsage("-o: the file name is empty");
      } else if (prefix->count() == 0) {
        RunGetOne(*arguments, blob->results().front(), session);
      } else {
        GetMany(session, arguments->bucket, arguments->prefix, arguments->directory);
      }
    };
  });
}

}  // namespace coffer::client::cli
