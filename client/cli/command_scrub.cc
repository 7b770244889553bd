// SPDX-License-Identifier: Apache-2.0
//
// coffer scrub status, start, pause and rate. Each prints how the scrubber stands after it.
#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"

namespace coffer::client::cli {
namespace {

std::string TimeOrNever(const std::optional<absl::Time>& time, absl::string_view never) {
  return time.has_value() ? FormatTimeUtc(*time) : std::string(never);
}

void PrintText(Output& out, const ScrubStatus& status) {
  out.Line(absl::StrCat("state:           ", status.running ? "running" : "paused"));
  out.Line(absl::StrCat("rate:            ", status.rate_bytes_per_second == 0
                                                 ? "unlimited"
                                                 : FormatBytes(status.rate_bytes_per_second) + " a second"));
  out.Line(absl::StrCat("cycle:           ", TimeOrNever(status.cycle_start, "none under way")));
  out.Line(absl::StrCat("checked:         ", status.blobs_checked, " blobs, ", FormatBytes(status.bytes_checked), ", ",
                        status.rows_checked, " rows"));
  out.Line(absl::StrCat("last completed:  ", TimeOrNever(status.last_completed_start, "never")));
  out.Line(absl::StrCat("findings:        ", status.findings));
  out.Line(absl::StrCat("quarantined:     ", status.quarantined_blobs, " blobs"));
  if (!status.last_failure.empty()) out.Line(absl::StrCat("last failure:    ", status.last_failure));
}

Json JsonOfScrub(const ScrubStatus& status) {
  Json object{{"running", status.running},
              {"rate_bytes_per_second", status.rate_bytes_per_second},
              {"cycles_completed", status.cycles_completed},
              {"blobs_checked", status.blobs_checked},
              {"bytes_checked", status.bytes_checked},
              {"rows_checked", status.rows_checked},
              {"findings", status.findings},
              {"quarantined_blobs", status.quarantined_blobs}};
  if (status.cycle_start.has_value()) object["cycle_start"] = FormatTimeUtc(*status.cycle_start);
  if (status.last_completed_start.has_value()) {
    object["last_completed_start"] = FormatTimeUtc(*status.last_completed_start);
    object["age_seconds"] = status.age_seconds;
  }
  if (!status.last_failure.empty()) object["last_failure"] = status.last_failure;
  return object;
}

void RunScrub(Session& session, ScrubAction action, uint64_t rate_bytes_per_second) {
  const absl::StatusOr<ScrubStatus> status = session.client().Scrub(action, rate_bytes_per_second);
  if (session.interrupted()) return;
  if (!status.ok()) return session.failures().Report("scrub", status.status());
  if (session.json()) {
    session.out().Object(JsonOfScrub(*status));
  } else {
    PrintText(session.out(), *status);
  }
}

}  // namespace

void AddScrub(CLI::App& app, Command* chosen) {
  CLI::App* command = app.add_subcommand("scrub", "The server's own check of every stored byte, over and over");
  command->require_subcommand(1);
  const auto add = [=](const char* name, const char* description, ScrubAction action) {
    CLI::App* sub = command->add_subcommand(name, description);
    auto rate = std::make_shared<uint64_t>(0);
    if (action == ScrubAction::kSetRate) {
      AddByteCount(*sub, "BYTES_PER_SECOND", rate.get(), "At most so many bytes a second; 0: as fast as the disk")
          ->required();
    }
    sub->callback([=] { *chosen = [=](Session& session) { RunScrub(session, action, *rate); }; });
  };
  add("status", "Show how far it is and what it found", ScrubAction::kStatus);
  add("start", "Go on after a pause, or begin the next cycle at once", ScrubAction::kStart);
  add("pause", "Pause, across restarts, until it is started again", ScrubAction::kPause);
  add("rate", "Set its rate, across restarts", ScrubAction::kSetRate);
}

}  // namespace coffer::client::cli
