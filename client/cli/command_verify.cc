// SPDX-License-Identifier: Apache-2.0
//
// coffer verify: has the server read content again and check every byte. Damage goes to stdout as
// "DIGEST  bytes [BEGIN, END)  PROBLEM" and makes the exit code 3.
#include <cerrno>
#include <fstream>
#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/progress.h"
#include "client/cli/sums_file.h"

namespace coffer::client::cli {
namespace {

void PrintFinding(Session& session, const VerifyFinding& finding) {
  session.failures().SetExitCode(kExitIntegrity);
  if (session.json()) {
    session.out().Object({{"digest", finding.digest.has_value() ? finding.digest->ToHex() : ""},
                          {"offset_bytes", finding.offset_bytes},
                          {"length_bytes", finding.length_bytes},
                          {"problem", finding.problem}});
    return;
  }
  if (!finding.digest.has_value() || finding.length_bytes == 0) {
    // Not content: the problem says what it is.
    session.out().Line(finding.problem);
    return;
  }
  session.out().Line(absl::StrCat(finding.digest->ToHex(), "  bytes [", finding.offset_bytes, ", ",
                                  finding.offset_bytes + finding.length_bytes, ")  ", finding.problem));
}

// `what`: for the summary and for errors.
void VerifyOne(Session& session, const std::string& what, const VerifyOptions& options) {
  Progress progress(session.draws_progress(), "blobs");
  const absl::StatusOr<VerifyProgress> result = session.client().Verify(
      options, {.progress = [&](const VerifyProgress& now) { progress.Set(now.blobs_checked, now.bytes_checked); },
                .finding = [&](const VerifyFinding& finding) { PrintFinding(session, finding); }});
  if (!result.ok()) {
    if (session.interrupted() && absl::IsCancelled(result.status())) return;
    session.failures().Report(what, result.status());
    return;
  }
  if (result->findings > 0) session.failures().SetExitCode(kExitIntegrity);
  if (session.json()) {
    session.out().Object({{"verified", what},
                          {"blobs_checked", result->blobs_checked},
                          {"bytes_checked", result->bytes_checked},
                          {"findings", result->findings}});
  } else if (std::holds_alternative<Selector>(options.scope)) {
    session.out().Line(absl::StrCat(what, ": ", result->findings == 0 ? "OK" : "DAMAGED"));
  } else {
    session.out().Line(absl::StrCat(what, ": ", result->blobs_checked, " blobs, ", result->bytes_checked,
                                    " bytes checked, ", result->findings, " findings"));
  }
}

// `-c`: each digest that a file of sums lists, under the name that stands there. "-": stdin.
void VerifyListed(Session& session, const std::string& bucket, const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path);
  std::istream& in = path == "-" ? std::cin : file;
  if (!in) return session.failures().Report(path, absl::ErrnoToStatus(errno, "cannot be read"));
  size_t number = 0;
  for (std::string line; !session.stopped() && std::getline(in, line);) {
    ++number;
    const absl::StatusOr<SumLine> sum = ParseSumLine(line);
    if (sum.ok()) {
      VerifyOne(session, sum->name, {.scope = Selector{bucket, sum->digest}});
    } else {
      session.failures().Report(absl::StrCat(path, ":", number), sum.status());
    }
  }
  if (in.bad()) session.failures().Report(path, absl::ErrnoToStatus(errno, "cannot be read"));
}

}  // namespace

void AddVerify(CLI::App& app, Command* chosen) {
  CLI::App* command = app.add_subcommand("verify", "Check stored content; exit code 3 if any is damaged");
  auto bucket = std::make_shared<std::string>();
  auto all = std::make_shared<bool>(false);
  CLI::Option* blobs = AddOperands(*command, "BLOB", "Names or digests; none, with -b: all of the bucket");
  CLI::Option* bucket_option = AddBucketOption(*command, bucket.get());
  command->add_flag("--all", *all, "Every blob of the store")->excludes(blobs)->excludes(bucket_option);
  CLI::Option* sums =
      AddVerbatim(*command, "-c,--check", "Every digest that this file lists in lines of b3sum; - for stdin");
  sums->excludes(blobs);
  command->callback([=] {
    if (!*all && blobs->count() == 0 && bucket_option->count() == 0 && sums->count() == 0) {
      throw CLI::RequiredError("BLOB, -b BUCKET, -c FILE or --all");
    }
    *chosen = [=](Session& session) {
      if (sums->count() > 0) {
        for (const std::string& path : sums->results()) VerifyListed(session, *bucket, path);
        return;
      }
      if (*all) return VerifyOne(session, "store", {.scope = WholeStore{}});
      if (blobs->count() == 0) {
        return VerifyOne(session, absl::StrCat("bucket ", *bucket), {.scope = WholeBucket{*bucket}});
      }
      for (const std::string& blob : blobs->results()) {
        if (session.stopped()) return;
        VerifyOne(session, blob, {.scope = SelectorOf(*bucket, blob)});
      }
    };
  });
}

}  // namespace coffer::client::cli
