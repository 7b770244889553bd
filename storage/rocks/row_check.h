// SPDX-License-Identifier: Apache-2.0
//
// Rows against each other: every reference has its record and its back-link, every back-link its reference, every piece
// an owner, and the totals are what there is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hashing/digest.h"
#include "storage/engine.h"
#include "storage/rocks/database.h"
#include "storage/rocks/encoding.h"

namespace coffer::rocks {

// Used by one thread, once, while nothing changes the database.
class RowCheck {
 public:
  // Receives what is wrong, and the digest that it concerns, if there is one.
  using Finding = std::function<void(const std::optional<Digest>&, const std::string&)>;

  // `database` is borrowed.
  RowCheck(Database& database, Finding finding) : database_(database), finding_(std::move(finding)) {}

  // Calls `record` for every record that can be read; its error ends the check and is returned. UNAVAILABLE.
  absl::Status Run(absl::FunctionRef<absl::Status(const Digest&, const Record&)> record);

  // What the rows add up to, after Run.
  const EngineTotals& counted() const { return counted_; }

 private:
  absl::Status CheckMeta();
  absl::Status CheckBuckets();
  absl::Status CheckReferences();
  absl::Status CheckReference(absl::string_view key, absl::string_view value);
  absl::Status CheckRecords(absl::FunctionRef<absl::Status(const Digest&, const Record&)> record);
  absl::Status CheckRecord(const Digest& digest, const Record& record);
  absl::Status CheckLinks();
  absl::Status CheckLink(absl::string_view key, absl::string_view value);
  absl::Status CheckCondemned();
  absl::Status CheckPieces(rocksdb::ColumnFamilyHandle* family);
  void CompareTotals();

  // DATA_LOSS becomes a finding.
  absl::Status Found(absl::Status status, const std::optional<Digest>& digest = std::nullopt);
  // The record of a digest, or nothing.
  absl::StatusOr<std::optional<Record>> RecordOf(const Digest& digest);
  // Whether the reference exists and names the digest.
  absl::StatusOr<bool> Names(BucketId bucket, absl::string_view name, const Digest& digest);
  std::string Place(BucketId bucket, absl::string_view name) const;
  void Own(ContentId content);
  bool IsOwned(ContentId content) const { return content < owned_.size() && owned_[content]; }

  Database& database_;
  const Finding finding_;
  std::optional<EngineTotals> stored_;
  EngineTotals counted_;
  uint64_t next_content_ = 0;
  uint64_t next_bucket_ = 0;
  // Names of buckets by id; those that are being swept have none.
  std::vector<std::pair<BucketId, std::string>> buckets_;
  // Indexed by content id: a record or a note has it. One bit for every id that was ever given out.
  std::vector<bool> owned_;
};

}  // namespace coffer::rocks
