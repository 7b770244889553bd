// SPDX-License-Identifier: Apache-2.0
//
// coffer get --prefix P --to DIR: every name that starts with P becomes a file below DIR, several at a time.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/in_order.h"
#include "client/cli/progress.h"
#include "client/cli/tree_writer.h"

namespace coffer::client::cli {
namespace {

struct GetOutcome {
  Reference reference;
  absl::StatusOr<GetResult> result = absl::UnknownError("");
};

GetOutcome GetOne(Session& session, TreeWriter& writer, Reference reference, Progress& progress) {
  GetOutcome outcome;
  outcome.reference = std::move(reference);
  absl::StatusOr<std::unique_ptr<TreeWriter::File>> file = writer.Create(outcome.reference.name);
  if (!file.ok()) {
    outcome.result = file.status();
    return outcome;
  }
  GetOptions options;
  options.progress = [&](int64_t bytes) { progress.AddBytes(bytes); };
  outcome.result = session.client().Get({outcome.reference.bucket, outcome.reference.name}, options,
                                        [&](ByteSpan bytes) { return (*file)->Write(bytes); });
  if (outcome.result.ok()) {
    if (absl::Status status = (*file)->Commit(); !status.ok()) outcome.result = status;
  }
  progress.AddItem();
  return outcome;
}

void Print(Session& session, const GetOutcome& outcome) {
  const std::string& name = outcome.reference.name;
  if (!outcome.result.ok()) {
    if (session.stopped() && absl::IsCancelled(outcome.result.status())) return;
    session.failures().Report(name, outcome.result.status());
  } else if (session.json()) {
    session.out().Object({{"bucket", outcome.reference.bucket},
                          {"name", name},
                          {"digest", outcome.result->digest.ToHex()},
                          {"size_bytes", outcome.result->size_bytes}});
  } else {
    session.out().Line(B3sumLine(outcome.result->digest, name));
  }
}

}  // namespace

void GetMany(Session& session, const std::string& bucket, const std::string& prefix, const std::string& directory) {
  Progress progress(session.draws_progress(), "files");
  uint64_t found = 0, failed = 0;
  // Opened for the first name, so that no empty directory stays behind when there is none.
  absl::StatusOr<std::unique_ptr<TreeWriter>> writer = std::unique_ptr<TreeWriter>();
  InOrder<GetOutcome> gets(kConcurrentCalls, kResultWindow, [&](GetOutcome outcome) {
    if (!outcome.result.ok()) ++failed;
    Print(session, outcome);
  });
  const absl::Status listed =
      session.client().ForEachReference({.bucket = bucket, .prefix = prefix}, [&](const Reference& reference) {
        if (session.stopped()) return absl::CancelledError("");
        if (found == 0) writer = TreeWriter::Open(directory);
        if (!writer.ok()) return writer.status();
        ++found;
        progress.AddTotalBytes(reference.size_bytes);
        gets.Add([&session, &writer, &progress, reference] {
          if (session.stopped()) return GetOutcome{reference, absl::CancelledError("")};
          return GetOne(session, **writer, reference, progress);
        });
        return absl::OkStatus();
      });
  gets.Finish();
  if (session.stopped()) return;
  if (!writer.ok()) return session.failures().Report("", writer.status());
  session.failures().Report(absl::StrCat("list ", prefix), listed);
  if (listed.ok() && found == 0) {
    session.failures().Report("get",
                              absl::NotFoundError(absl::StrCat("bucket ", bucket.empty() ? "default" : bucket,
                                                               " has no name that starts with \"", prefix, "\"")));
  }
  if (failed > 0) {
    std::fprintf(stderr, "coffer: %llu of %llu were not fetched\n", static_cast<unsigned long long>(failed),
                 static_cast<unsigned long long>(found));
  }
}

}  // namespace coffer::client::cli
