// SPDX-License-Identifier: Apache-2.0
//
// References, back-links and records, checked against each other:
//
//   each reference  stands for a digest that has a record, of the same size, and has a back-link;
//   each `+` link   has its reference;
//   each record     has a first back-link that lives or is marked as gone.
//
//   1. A page of rows is checked as it is read: cheap, but others may change rows between two looks.
//   2. What contradicts is checked again in a commit, where nothing else changes. Only that is a finding. A reference
//      that has no back-link gets it there, so that its content is not taken for garbage.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/database.h"
#include "storage/scrub.h"

namespace coffer::rocks {

// Engine::CheckRows. A row that cannot be decoded is a finding if it is a reference; a record is left to the check of
// content. DATA_LOSS if the database cannot read its own rows, UNAVAILABLE.
absl::StatusOr<RowCheck> CheckRows(Database& database, Committer& committer, absl::string_view cursor, size_t limit);

}  // namespace coffer::rocks
