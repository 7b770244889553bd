// SPDX-License-Identifier: Apache-2.0
//
// coffer backup.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"

namespace coffer::client::cli {
namespace {

void RunBackup(Session& session, const std::string& name) {
  const absl::StatusOr<BackupResult> result = session.client().Backup(name);
  if (session.interrupted()) return;
  if (!result.ok()) return session.failures().Report(absl::StrCat("backup ", name), result.status());
  if (session.json()) {
    session.out().Object({{"backup", name},
                          {"blobs", result->blobs},
                          {"written_bytes", result->written_bytes},
                          {"shared_bytes", result->shared_bytes}});
  } else {
    session.out().Line(absl::StrCat(name, ": ", result->blobs, " blobs, ", FormatBytes(result->written_bytes),
                                    " written, ", FormatBytes(result->shared_bytes), " shared with earlier backups"));
  }
}

}  // namespace

void AddBackup(CLI::App& app, Command* chosen) {
  CLI::App* command = app.add_subcommand("backup", "Make a verified backup in the server's backup directory");
  CLI::Option* name =
      AddVerbatim(*command, "NAME", "1 to 255 of the characters A-Z a-z 0-9 . _ -, no dot at the start")->required();
  command->callback([=] { *chosen = [=](Session& session) { RunBackup(session, name->results().front()); }; });
}

}  // namespace coffer::client::cli
