// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/row_checker.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "storage/names.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/readable_rows.h"
#include "storage/rocks/reference_rows.h"
#include "storage/rocks/rows.h"

namespace coffer::rocks {
namespace {

// Rows that are checked again in one commit: a few milliseconds for the callers that share its batch.
constexpr size_t kRecheckSlice = 128;

// The first byte of a cursor: which family is being gone through. In this order.
constexpr char kReferences = 'r';
constexpr char kLinks = 'l';
constexpr char kRecords = 'd';

using Value = absl::StatusOr<std::optional<std::string>>;
// Reads a row, from the database as it is or under a commit.
using Getter = absl::FunctionRef<Value(rocksdb::ColumnFamilyHandle*, absl::string_view)>;

enum class Problem { kNone, kContradiction, kNoLink };

struct Check {
  Problem problem = Problem::kNone;
  RowFinding finding;
  // With kNoLink.
  Record record;
};

BucketId BucketInKey(absl::string_view key) {
  BucketId bucket = 0;
  for (const char byte : key.substr(0, sizeof(BucketId))) bucket = bucket << 8 | static_cast<uint8_t>(byte);
  return bucket;
}

std::string NameOf(absl::string_view reference_key) {
  return absl::StrCat("name ", Quoted(NameInReferenceKey(reference_key)), " of the bucket with number ",
                      BucketInKey(reference_key));
}

Check Contradiction(const std::optional<Digest>& digest, std::string problem) {
  return {Problem::kContradiction, {digest, std::move(problem)}, {}};
}

absl::StatusOr<Check> CheckReference(Database& database, Getter get, absl::string_view key, absl::string_view value) {
  const absl::StatusOr<Reference> reference = DecodeReference(key, "", value);
  if (!reference.ok()) return Contradiction(std::nullopt, absl::StrCat("the row of ", NameOf(key), " is damaged"));
  const Digest& digest = reference->digest;
  const std::string what = absl::StrCat(NameOf(key), " stands for blob ", digest.ToHex());
  const Value found = get(database.records(), digest.view());
  if (absl::IsDataLoss(found.status())) {
    return Contradiction(digest, absl::StrCat(what, ", whose record cannot be read: ", found.status().message()));
  }
  if (!found.ok()) return found.status();
  if (!found->has_value()) return Contradiction(digest, absl::StrCat(what, ", which is not stored"));
  absl::StatusOr<RecordRow> row = DecodeRecord(digest, **found);
  // Without its record nobody knows which link is the first.
  if (!row.ok()) return Check();
  Record& record = row->record;
  if (record.size_bytes != reference->size_bytes) {
    return Contradiction(
        digest, absl::StrCat(what, " and ", reference->size_bytes, " bytes, but that has ", record.size_bytes));
  }
  const bool is_first = LinkKey(digest, record.first_bucket, record.first_name) == absl::StrCat(digest.view(), key);
  const Value link = get(database.links(), absl::StrCat(digest.view(), key));
  if (!link.ok()) return link.status();
  const bool is_linked = is_first ? *link != kFirstLinkGone : *link == kLinked;
  if (is_linked) return Check();
  return Check{Problem::kNoLink, {digest, absl::StrCat(what, ", which has no back-link to it")}, std::move(record)};
}

// Whether the reference of a back-link is there. One that is damaged hides what it stands for.
absl::StatusOr<bool> Lives(Database& database, Getter get, const Digest& digest, absl::string_view reference_key) {
  const Value value = get(database.references(), reference_key);
  if (!value.ok()) return value.status();
  if (!value->has_value()) return false;
  const absl::StatusOr<Reference> reference = DecodeReference(reference_key, "", **value);
  return !reference.ok() || reference->digest == digest;
}

absl::StatusOr<Check> CheckLink(Database& database, Getter get, absl::string_view key, absl::string_view value) {
  // The mark that a record's first back-link is gone contradicts nothing.
  if (value != kLinked) return Check();
  const absl::StatusOr<Digest> digest = Digest::FromBytes(key.substr(0, Digest::kSizeBytes));
  if (!digest.ok()) return Contradiction(std::nullopt, "a back-link has a key that begins with no digest");
  key.remove_prefix(Digest::kSizeBytes);
  const absl::StatusOr<bool> lives = Lives(database, get, *digest, key);
  if (!lives.ok()) return lives.status();
  if (*lives) return Check();
  return Contradiction(*digest, absl::StrCat("blob ", digest->ToHex(), " has a back-link to ", NameOf(key),
                                             ", which does not stand for it"));
}

absl::StatusOr<Check> CheckRecord(Database& database, Getter get, absl::string_view key, absl::string_view value) {
  const absl::StatusOr<Digest> digest = Digest::FromBytes(key);
  if (!digest.ok()) return Contradiction(std::nullopt, "a record has a key that is no digest");
  const absl::StatusOr<RecordRow> row = DecodeRecord(*digest, value);
  if (!row.ok() || row->record.first_bucket == kUnknownBucket) return Check();
  const Record& record = row->record;
  const Value link = get(database.links(), LinkKey(*digest, record.first_bucket, record.first_name));
  if (!link.ok()) return link.status();
  if (*link == kFirstLinkGone) return Check();
  const std::string reference_key = ReferenceKey(record.first_bucket, record.first_name);
  const absl::StatusOr<bool> lives = Lives(database, get, *digest, reference_key);
  if (!lives.ok()) return lives.status();
  if (*lives) return Check();
  return Contradiction(*digest, absl::StrCat("the first back-link of blob ", digest->ToHex(), ", to ",
                                             NameOf(reference_key), ", neither lives nor is marked as gone"));
}

// One pass over a family.
struct Pass {
  char mark;
  char next;
  rocksdb::ColumnFamilyHandle* family;
  absl::StatusOr<Check> (*check)(Database&, Getter, absl::string_view key, absl::string_view value);
};

Pass PassOf(const Database& database, absl::string_view cursor) {
  const char mark = cursor.empty() ? kReferences : cursor[0];
  if (mark == kReferences) return {kReferences, kLinks, database.references(), CheckReference};
  if (mark == kLinks) return {kLinks, kRecords, database.links(), CheckLink};
  return {kRecords, 0, database.records(), CheckRecord};
}

// Step 2 for one row.
absl::Status Recheck(Database& database, const Pass& pass, Batch& batch, const std::string& key, RowCheck& result) {
  const auto get = [&](rocksdb::ColumnFamilyHandle* family, absl::string_view row) { return batch.Get(family, row); };
  const Value value = get(pass.family, key);
  if (absl::IsDataLoss(value.status())) return absl::OkStatus();
  if (!value.ok() || !value->has_value()) return value.status();
  const absl::StatusOr<Check> check = pass.check(database, get, key, **value);
  if (absl::IsDataLoss(check.status())) {
    result.findings.push_back({std::nullopt, std::string(check.status().message())});
    return absl::OkStatus();
  }
  if (!check.ok()) return check.status();
  if (check->problem == Problem::kNone) return absl::OkStatus();
  if (check->problem == Problem::kNoLink) {
    AddLink(database, batch, *check->finding.digest, check->record, BucketInKey(key), NameInReferenceKey(key));
    // The first links of a record that was healed are not known; this is how they become known again.
    if (check->record.first_bucket == kUnknownBucket) return absl::OkStatus();
  }
  result.findings.push_back(check->finding);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RowCheck> CheckRows(Database& database, Committer& committer, absl::string_view cursor, size_t limit) {
  const Pass pass = PassOf(database, cursor);
  const std::string after(cursor.substr(cursor.empty() ? 0 : 1));
  const auto get = [&](rocksdb::ColumnFamilyHandle* family, absl::string_view key) {
    return ReadRow(database, family, key);
  };
  RowCheck result;
  std::string last;
  std::vector<std::string> suspects;
  absl::Status status = ScanReadable(
      database, pass.family, {.prefix = "", .after = after, .limit = limit, .fill_cache = false},
      [&](absl::string_view key, absl::string_view value) -> absl::Status {
        ++result.rows;
        last = std::string(key);
        const absl::StatusOr<Check> check = pass.check(database, get, key, value);
        if (!check.ok() && !absl::IsDataLoss(check.status())) return check.status();
        if (!check.ok() || check->problem != Problem::kNone) suspects.push_back(last);
        return absl::OkStatus();
      },
      [&](const absl::Status& unreadable) {
        // Where records cannot be read, the check of content has said so.
        if (pass.mark != kRecords) result.findings.push_back({std::nullopt, std::string(unreadable.message())});
      });
  if (!status.ok()) return status;
  for (absl::Span<const std::string> rest = suspects; !rest.empty();) {
    const absl::Span<const std::string> slice = rest.subspan(0, kRecheckSlice);
    rest.remove_prefix(slice.size());
    const auto recheck = [&](Batch& batch) -> absl::Status {
      for (const std::string& key : slice) {
        if (absl::Status one = Recheck(database, pass, batch, key, result); !one.ok()) return one;
      }
      return absl::OkStatus();
    };
    if (status = committer.Commit(0, recheck, Lane::kBulk); !status.ok()) return status;
  }
  if (result.rows == limit) {
    result.next_cursor = absl::StrCat(std::string(1, pass.mark), last);
  } else if (pass.next != 0) {
    result.next_cursor = std::string(1, pass.next);
  }
  return result;
}

}  // namespace coffer::rocks
