// SPDX-License-Identifier: Apache-2.0
//
// coffer status.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"

namespace coffer::client::cli {
namespace {

std::string Amount(uint64_t size_bytes) { return absl::StrCat(size_bytes, " bytes (", FormatBytes(size_bytes), ")"); }

void PrintText(Output& out, const ServerStatus& status) {
  out.Line(absl::StrCat("version:         ", status.version));
  out.Line(absl::StrCat("store id:        ", status.store_id));
  out.Line(absl::StrCat("engine:          ", status.engine));
  out.Line(absl::StrCat("hash kernel:     ", status.hash_kernel));
  out.Line(absl::StrCat("started:         ", FormatTimeUtc(status.started)));
  out.Line(absl::StrCat("blobs:           ", status.blobs));
  out.Line(absl::StrCat("content:         ", Amount(status.content_bytes)));
  out.Line(absl::StrCat("references:      ", status.references, " in ", status.buckets, " buckets"));
  out.Line(absl::StrCat("referenced:      ", Amount(status.referenced_bytes)));
  out.Line(absl::StrCat("staging:         ", Amount(status.staging_bytes)));
  out.Line(absl::StrCat("disk:            ", FormatBytes(status.disk_free_bytes), " free of ",
                        FormatBytes(status.disk_total_bytes), ", puts stop at ",
                        FormatBytes(status.disk_low_water_bytes)));
  out.Line(absl::StrCat("puts:            ", status.puts_new, " new, ", status.puts_deduplicated, " deduplicated (",
                        FormatBytes(status.deduplicated_bytes), " not stored again)"));
}

Json JsonOfStatus(const ServerStatus& status) {
  return Json{{"version", status.version},
              {"store_id", status.store_id},
              {"engine", status.engine},
              {"hash_kernel", status.hash_kernel},
              {"started", FormatTimeUtc(status.started)},
              {"blobs", status.blobs},
              {"content_bytes", status.content_bytes},
              {"references", status.references},
              {"referenced_bytes", status.referenced_bytes},
              {"buckets", status.buckets},
              {"staging_bytes", status.staging_bytes},
              {"disk_total_bytes", status.disk_total_bytes},
              {"disk_free_bytes", status.disk_free_bytes},
              {"disk_low_water_bytes", status.disk_low_water_bytes},
              {"puts_new", status.puts_new},
              {"puts_deduplicated", status.puts_deduplicated},
              {"deduplicated_bytes", status.deduplicated_bytes}};
}

}  // namespace

void AddStatus(CLI::App& app, Command* chosen) {
  CLI::App* command = app.add_subcommand("status", "Show what the server is and how much it holds");
  command->callback([=] {
    *chosen = [](Session& session) {
      const absl::StatusOr<ServerStatus> status = session.client().Status();
      if (session.interrupted()) return;
      if (!status.ok()) return session.failures().Report("status", status.status());
      if (session.json()) {
        session.out().Object(JsonOfStatus(*status));
      } else {
        PrintText(session.out(), *status);
      }
    };
  });
}

}  // namespace coffer::client::cli
