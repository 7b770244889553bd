// SPDX-License-Identifier: Apache-2.0
#include "storage/verifier.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "storage/layout.h"
#include "storage/names.h"
#include "storage/tree_walk.h"

namespace coffer {
namespace {

// Rows of a listing that are held in memory at once.
constexpr size_t kPage = 1000;

}  // namespace

absl::Status Verifier::Report(const VerifyFinding& finding) {
  ++progress_.findings;
  observer_.finding(finding);
  return ReportProgress();
}

absl::Status Verifier::ReportProgress() {
  if (observer_.progress(progress_)) return absl::OkStatus();
  return absl::CancelledError("the verification was cancelled");
}

absl::Status Verifier::CheckContent(const Digest& digest, Content& content, ByteRange range) {
  TreeWalk walk(digest, content);
  const uint64_t end = range.offset_bytes + range.length_bytes;
  bool is_damaged = false;
  uint64_t position = range.offset_bytes / kRowBytes * kRowBytes;
  // At least one round: the empty blob has a digest to prove, too.
  do {
    const uint64_t row = position / kRowBytes;
    // What has been reported already is passed over.
    const size_t begin_group = position % kRowBytes / kGroupBytes;
    // As much of the row as the range reaches into.
    const uint64_t row_end = std::min<uint64_t>((row + 1) * kRowBytes, content.size_bytes());
    const size_t end_group = (std::min(end, row_end) - row * kRowBytes + kGroupBytes - 1) / kGroupBytes;
    uint64_t next = row_end;
    const absl::Status status = walk.Row(row, begin_group, end_group).status();
    if (absl::IsDataLoss(status)) {
      is_damaged = true;
      const ByteRange& damage = walk.damage();
      next = std::max(position, damage.offset_bytes + damage.length_bytes);
      if (absl::Status go_on = Report({digest, damage, std::string(status.message())}); !go_on.ok()) return go_on;
    } else if (!status.ok()) {
      return status;
    }
    progress_.bytes_checked += std::min(next, end) - std::min(position, end);
    if (position / kSegmentBytes != next / kSegmentBytes) {
      if (absl::Status go_on = ReportProgress(); !go_on.ok()) return go_on;
    }
    position = next;
  } while (position < end);
  ++progress_.blobs_checked;
  if (is_damaged && examine_) examine_(digest);
  return ReportProgress();
}

absl::Status Verifier::ReportUnreadable(const std::optional<Digest>& digest, const absl::Status& problem) {
  ++progress_.blobs_checked;
  return Report({digest, {}, std::string(problem.message())});
}

absl::Status Verifier::CheckBlob(const Digest& digest, const Reference* named_by) {
  absl::StatusOr<std::unique_ptr<Content>> content = engine_.Open(digest);
  if (absl::IsDataLoss(content.status())) return ReportUnreadable(digest, content.status());
  if (absl::IsNotFound(content.status())) {
    return named_by == nullptr ? absl::OkStatus() : ReportMissing(*named_by);
  }
  if (!content.ok()) return content.status();
  return CheckContent(digest, **content, {0, (*content)->size_bytes()});
}

absl::Status Verifier::ReportMissing(const Reference& reference) {
  // The name may have gone since it was read, and its content with it.
  absl::StatusOr<Reference> now = engine_.Resolve(reference.bucket, reference.name);
  if (absl::IsNotFound(now.status())) return absl::OkStatus();
  if (!now.ok()) return now.status();
  if (!(now->digest == reference.digest)) return absl::OkStatus();
  absl::StatusOr<std::optional<uint64_t>> found = engine_.Find(reference.digest);
  if (found.ok() && found->has_value()) return absl::OkStatus();
  return Report({reference.digest,
                 {},
                 absl::StrCat("name ", Quoted(reference.name), " of bucket ", Quoted(reference.bucket),
                              " stands for blob ", reference.digest.ToHex(), ", which is not stored")});
}

absl::Status Verifier::CheckReference(const Reference& reference, bool contents) {
  if (contents) return CheckBlob(reference.digest, &reference);
  absl::StatusOr<std::optional<uint64_t>> found = engine_.Find(reference.digest);
  // A damaged record is reported with its blob.
  if (absl::IsDataLoss(found.status())) return absl::OkStatus();
  if (!found.ok()) return found.status();
  if (found->has_value()) return absl::OkStatus();
  // Quarantined content counts as missing, and was reported with its blob.
  absl::StatusOr<std::unique_ptr<Content>> content = engine_.Open(reference.digest);
  if (absl::IsDataLoss(content.status())) return absl::OkStatus();
  if (content.ok()) return absl::OkStatus();
  return absl::IsNotFound(content.status()) ? ReportMissing(reference) : content.status();
}

absl::Status Verifier::CheckBucket(absl::string_view bucket, bool contents) {
  std::string after;
  while (true) {
    absl::StatusOr<std::vector<ListedReference>> page = engine_.List(bucket, "", after, kPage);
    if (absl::IsDataLoss(page.status())) return Report({std::nullopt, {}, std::string(page.status().message())});
    if (!page.ok()) return page.status();
    for (const ListedReference& row : *page) {
      absl::Status status = row.reference.ok() ? CheckReference(*row.reference, contents)
                                               : ReportUnreadable(std::nullopt, row.reference.status());
      if (!status.ok()) return status;
    }
    if (page->size() < kPage) return absl::OkStatus();
    after = page->back().name;
  }
}

absl::Status Verifier::CheckAll() {
  std::optional<Digest> after;
  while (true) {
    absl::StatusOr<std::vector<Digest>> page = engine_.ListDigests(after, kPage);
    if (!page.ok()) return page.status();
    for (const Digest& digest : *page) {
      if (absl::Status status = CheckBlob(digest, nullptr); !status.ok()) return status;
    }
    if (page->size() < kPage) break;
    after = page->back();
  }
  std::string after_bucket;
  while (true) {
    absl::StatusOr<std::vector<ListedBucket>> page = engine_.ListBuckets(after_bucket, kPage);
    if (!page.ok()) return page.status();
    for (const ListedBucket& row : *page) {
      // A damaged bucket is reported by the listing of its references, which needs it.
      absl::Status status = CheckBucket(row.name, false);
      if (!status.ok() && !absl::IsNotFound(status)) return status;
    }
    if (page->size() < kPage) return absl::OkStatus();
    after_bucket = page->back().name;
  }
}

}  // namespace coffer
