// SPDX-License-Identifier: Apache-2.0
//
// coffer gc: has the server reclaim what has been garbage for the grace period.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"

namespace coffer::client::cli {
namespace {

void RunGc(Session& session, bool dry_run) {
  const absl::StatusOr<CollectResult> result = session.client().Collect(dry_run);
  if (session.interrupted()) return;
  if (!result.ok()) return session.failures().Report("gc", result.status());
  if (session.json()) {
    session.out().Object({{"dry_run", dry_run}, {"blobs", result->blobs}, {"content_bytes", result->content_bytes}});
  } else {
    session.out().Line(absl::StrCat(result->blobs, " blobs, ", result->content_bytes, " bytes ",
                                    dry_run ? "would be reclaimed" : "reclaimed"));
  }
}

}  // namespace

void AddGc(CLI::App& app, Command* chosen) {
  CLI::App* command = app.add_subcommand(
      "gc", "Reclaim now what no name has referred to for the grace period; the server does it by itself as well");
  auto dry_run = std::make_shared<bool>(false);
  command->add_flag("--dry-run", *dry_run, "Only tell what would be reclaimed");
  command->callback([=] { *chosen = [=](Session& session) { RunGc(session, *dry_run); }; });
}

}  // namespace coffer::client::cli
