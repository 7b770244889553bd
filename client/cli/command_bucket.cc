// SPDX-License-Identifier: Apache-2.0
//
// coffer bucket ls, create and rm.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"

namespace coffer::client::cli {
namespace {

void RunList(Session& session) {
  std::string cursor;
  do {
    const absl::StatusOr<BucketPage> page = session.client().ListBuckets(0, cursor);
    if (session.interrupted()) return;
    if (!page.ok()) return session.failures().Report("bucket ls", page.status());
    for (const Bucket& bucket : page->buckets) {
      if (session.json()) {
        session.out().Object({{"bucket", bucket.bucket}, {"created", FormatTimeUtc(bucket.created)}});
      } else {
        session.out().Line(bucket.bucket);
      }
    }
    cursor = page->next_cursor;
  } while (!cursor.empty() && !session.stopped());
}

// `change` is CreateBucket or DeleteBucket, `done` the word for what it did.
void RunChange(Session& session, const std::vector<std::string>& buckets,
               absl::StatusOr<bool> (Client::*change)(const std::string&), const std::string& done) {
  for (const std::string& bucket : buckets) {
    if (session.stopped()) return;
    if (bucket.empty()) {
      session.failures().ReportUsage("a bucket has 1 to 255 bytes, got 0");
      continue;
    }
    const absl::StatusOr<bool> changed = (session.client().*change)(bucket);
    if (session.interrupted()) return;
    if (!changed.ok()) {
      session.failures().Report(absl::StrCat("bucket ", bucket), changed.status());
    } else if (session.json()) {
      session.out().Object({{"bucket", bucket}, {done, *changed}});
    }
  }
}

}  // namespace

void AddBucket(CLI::App& app, Command* chosen) {
  CLI::App* command = app.add_subcommand("bucket", "List, create or remove buckets");
  command->require_subcommand(1);
  command->add_subcommand("ls", "List the buckets")->callback([=] { *chosen = RunList; });
  CLI::App* create = command->add_subcommand("create", "Make empty buckets; fine if they exist");
  CLI::Option* created = AddOperands(*create, "BUCKET", "Buckets")->required();
  create->callback([=] {
    *chosen = [=](Session& session) { RunChange(session, created->results(), &Client::CreateBucket, "created"); };
  });
  CLI::App* remove = command->add_subcommand("rm", "Remove buckets with every name in them; fine if they do not exist");
  CLI::Option* removed = AddOperands(*remove, "BUCKET", "Buckets")->required();
  remove->callback([=] {
    *chosen = [=](Session& session) { RunChange(session, removed->results(), &Client::DeleteBucket, "deleted"); };
  });
}

}  // namespace coffer::client::cli
