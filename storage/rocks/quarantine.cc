// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/quarantine.h"

#include <utility>

#include "hashing/bytes.h"
#include "hashing/subtree.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/rows.h"

namespace coffer::rocks {
namespace {

// A reason names a digest and a range; it is for people.
constexpr size_t kMaxReasonBytes = 1024;

// What the row holds, as the database has it, is what was put. Other content than inline one is not in the row.
bool IsSound(const Digest& digest, const RecordRow& row) {
  if (row.record.placement != Placement::kInline) return true;
  return row.inline_content.size() == row.record.size_bytes && HashBlob(BytesOf(row.inline_content)) == digest;
}

}  // namespace

absl::StatusOr<Quarantining> QuarantineContent(Database& database, Committer& committer, const Digest& digest,
                                               uint64_t version, absl::string_view reason) {
  Quarantining outcome = Quarantining::kGone;
  const auto quarantine = [&](Batch& batch) -> absl::Status {
    outcome = Quarantining::kQuarantined;
    absl::StatusOr<std::optional<std::string>> value = batch.Get(database.records(), digest.view());
    // A record that cannot be believed counts as missing already.
    if (absl::IsDataLoss(value.status())) return absl::OkStatus();
    if (!value.ok()) return value.status();
    if (!value->has_value()) {
      outcome = Quarantining::kGone;
      return absl::OkStatus();
    }
    absl::StatusOr<RecordRow> row = DecodeRecord(digest, **value);
    if (!row.ok() || row->record.is_quarantined) return absl::OkStatus();
    if (version != 0 && version != row->record.content_id) {
      outcome = Quarantining::kGone;
      return absl::OkStatus();
    }
    if (version == 0 && IsSound(digest, *row)) {
      outcome = Quarantining::kRepaired;
      batch.Put(database.records(), digest.view(), **value);
      return absl::OkStatus();
    }
    row->record.is_quarantined = true;
    batch.Put(database.records(), digest.view(), EncodeRecord(digest, row->record, row->inline_content));
    batch.Put(database.quarantined(), digest.view(), EncodeText(digest.view(), reason.substr(0, kMaxReasonBytes)));
    return absl::OkStatus();
  };
  if (absl::Status status = committer.Commit(0, quarantine, Lane::kBulk); !status.ok()) return status;
  return outcome;
}

std::string QuarantineReason(Database& database, const Digest& digest) {
  const absl::StatusOr<std::optional<std::string>> value = ReadRow(database, database.quarantined(), digest.view());
  const absl::StatusOr<std::string> reason = DecodeText(digest.view(), value.ok() ? value->value_or("") : "");
  return reason.ok() && !reason->empty() ? *reason : "the reason is not known";
}

absl::StatusOr<std::vector<Quarantined>> ListQuarantined(Database& database, const std::optional<Digest>& after,
                                                         size_t limit) {
  std::vector<Quarantined> page;
  const absl::string_view after_key = after.has_value() ? after->view() : "";
  absl::Status status = ScanRows(database, database.quarantined(), {.prefix = "", .after = after_key, .limit = limit},
                                 [&](absl::string_view key, absl::string_view value) {
                                   absl::StatusOr<Digest> digest = Digest::FromBytes(key);
                                   if (!digest.ok())
                                     return absl::DataLossError("a quarantined row has a key that is no digest");
                                   page.push_back({*digest, DecodeText(key, value)});
                                   return absl::OkStatus();
                                 });
  if (!status.ok()) return status;
  return page;
}

}  // namespace coffer::rocks
