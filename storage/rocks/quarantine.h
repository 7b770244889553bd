// SPDX-License-Identifier: Apache-2.0
//
// Content that failed a check (FORMAT.md 7.2): its record says so, and the reason stands in a row of its own.
// Everything that asks whether content is present passes over it, so the next put of the same bytes stores them anew.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/engine.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/database.h"

namespace coffer::rocks {

// Engine::Quarantine.
absl::StatusOr<Quarantining> QuarantineContent(Database& database, Committer& committer, const Digest& digest,
                                               uint64_t version, absl::string_view reason);

// Why `digest`, whose record says that it is quarantined, is so. Never empty.
std::string QuarantineReason(Database& database, const Digest& digest);

// Engine::ListQuarantined.
absl::StatusOr<std::vector<Quarantined>> ListQuarantined(Database& database, const std::optional<Digest>& after,
                                                         size_t limit);

}  // namespace coffer::rocks
