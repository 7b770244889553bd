// SPDX-License-Identifier: Apache-2.0
//
// coffer ls, stat and rm.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/in_order.h"

namespace coffer::client::cli {
namespace {

void RunLs(Session& session, const std::string& bucket, const std::string& prefix) {
  const absl::Status status =
      session.client().ForEachReference({.bucket = bucket, .prefix = prefix}, [&](const Reference& reference) {
        if (session.stopped()) return absl::CancelledError("");
        if (session.json()) {
          session.out().Object(JsonOf(reference));
        } else {
          session.out().Line(B3sumLine(reference.digest, reference.name));
        }
        return absl::OkStatus();
      });
  if (!session.stopped()) session.failures().Report("ls", status);
}

void PrintStat(Session& session, const Selector& blob, const BlobStat& stat) {
  if (session.json()) {
    Json object{{"digest", stat.digest.ToHex()}, {"size_bytes", stat.size_bytes}};
    if (std::holds_alternative<std::string>(blob.by)) {
      object["bucket"] = blob.bucket.empty() ? "default" : blob.bucket;
      object["name"] = stat.name;
      object["metadata"] = stat.metadata;
      if (stat.created.has_value()) object["created"] = FormatTimeUtc(*stat.created);
    }
    session.out().Object(object);
    return;
  }
  Output& out = session.out();
  if (std::holds_alternative<std::string>(blob.by)) out.Line(absl::StrCat("name:     ", stat.name));
  out.Line(absl::StrCat("digest:   ", stat.digest.ToHex()));
  out.Line(absl::StrCat("size:     ", stat.size_bytes, " bytes"));
  if (stat.created.has_value()) out.Line(absl::StrCat("created:  ", FormatTimeUtc(*stat.created)));
  for (const auto& [label, value] : stat.metadata) out.Line(absl::StrCat("meta:     ", label, "=", value));
}

void RunStat(Session& session, const std::string& bucket, const std::vector<std::string>& blobs) {
  struct Outcome {
    std::string what;
    absl::StatusOr<BlobStat> stat = absl::UnknownError("");
  };
  bool first = true;
  InOrder<Outcome> stats(std::min<int>(kConcurrentCalls, blobs.size()), kResultWindow, [&](Outcome outcome) {
    if (session.interrupted()) return;
    if (!outcome.stat.ok()) return session.failures().Report(outcome.what, outcome.stat.status());
    if (!first && !session.json()) session.out().Line("");
    first = false;
    PrintStat(session, SelectorOf(bucket, outcome.what), *outcome.stat);
  });
  for (const std::string& blob : blobs) {
    if (session.stopped()) break;
    stats.Add([&session, &bucket, blob] { return Outcome{blob, session.client().Stat(SelectorOf(bucket, blob))}; });
  }
  stats.Finish();
}

}  // namespace

void AddLs(CLI::App& app, Command* chosen) {
  CLI::App* command = app.add_subcommand("ls", "List names as b3sum lines, which `b3sum -c` accepts");
  auto bucket = std::make_shared<std::string>();
  CLI::Option* prefix = AddVerbatim(*command, "PREFIX", "Only names that start with this");
  AddBucketOption(*command, bucket.get());
  command->callback([=] {
    *chosen = [=](Session& session) {
      RunLs(session, *bucket, prefix->count() > 0 ? prefix->results().front() : std::string());
    };
  });
}

void AddStat(CLI::App& app, Command* chosen) {
  CLI::App* command = app.add_subcommand("stat", "Show digest, size, time and metadata");
  auto bucket = std::make_shared<std::string>();
  CLI::Option* blobs = AddOperands(*command, "BLOB", "Names or digests (64 hex digits)")->required();
  AddBucketOption(*command, bucket.get());
  command->callback([=] { *chosen = [=](Session& session) { RunStat(session, *bucket, blobs->results()); }; });
}

void AddRm(CLI::App& app, Command* chosen) {
  CLI::App* command =
      app.add_subcommand("rm", "Remove names; fine if they do not exist. A digest stands for the name in hex");
  auto bucket = std::make_shared<std::string>();
  CLI::Option* names = AddOperands(*command, "NAME", "Names")->required();
  AddBucketOption(*command, bucket.get());
  command->callback([=] {
    *chosen = [=](Session& session) {
      const std::vector<std::string> all = names->results();
      const absl::StatusOr<uint64_t> deleted = session.client().Delete(*bucket, all);
      if (session.interrupted()) return;
      if (!deleted.ok()) return session.failures().Report("rm", deleted.status());
      if (session.json()) {
        session.out().Object(
            {{"bucket", bucket->empty() ? "default" : *bucket}, {"names", all.size()}, {"deleted", *deleted}});
      }
    };
  });
}

}  // namespace coffer::client::cli
