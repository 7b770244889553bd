// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/reclaimer.h"

#include <algorithm>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "storage/rocks/content_rows.h"
#include "storage/rocks/leases.h"
#include "storage/rocks/meta_rows.h"
#include "storage/rocks/reference_rows.h"
#include "storage/rocks/rows.h"

namespace coffer::rocks {
namespace {

// Digests that one operation erases: a few milliseconds for the callers that share its batch.
constexpr size_t kEraseSlice = 128;
// Rewriting the others for less would cost more than it gives back.
constexpr uint64_t kMinGarbageBytes = uint64_t{64} << 20;
constexpr uint64_t kGarbageShare = 5;
// Content ids that one operation removes the pieces of. The largest that is gathered has 137.
constexpr size_t kRemoveSlice = 64;

}  // namespace

absl::Status Reclaimer::ReadNotes() {
  absl::StatusOr<std::vector<uint64_t>> contents = NumbersUnder(database_, kErasedPrefix);
  if (!contents.ok()) return contents.status();
  std::lock_guard lock(mutex_);
  for (const ContentId content : *contents) {
    const std::string key = ErasedKey(content);
    absl::StatusOr<std::optional<std::string>> value = ReadRow(database_, database_.meta(), key);
    if (!value.ok()) return value.status();
    absl::StatusOr<Erased> erased = DecodeErased(key, value->value_or(""));
    if (!erased.ok()) return erased.status();
    pending_.emplace(content, *erased);
  }
  return absl::OkStatus();
}

absl::StatusOr<Erasure> Reclaimer::EraseCondemned(absl::Span<const Digest> digests, uint64_t condemned_until_ms,
                                                  bool dry_run) {
  Erasure total;
  while (!digests.empty()) {
    const absl::Span<const Digest> slice = digests.subspan(0, kEraseSlice);
    digests.remove_prefix(slice.size());
    ErasedContents erased;
    Erasure erasure;
    absl::Status status = committer_.Commit(
        0,
        [&](Batch& batch) -> absl::Status {
          for (const Digest& digest : slice) {
            if (absl::Status one = EraseOne(batch, digest, condemned_until_ms, erased, erasure); !one.ok()) return one;
          }
          // What an operation that fails has written is taken back.
          return dry_run ? absl::CancelledError() : absl::OkStatus();
        },
        Lane::kBulk);
    if (dry_run && absl::IsCancelled(status)) {
      status = absl::OkStatus();
      erased.clear();
    }
    if (!status.ok()) return status;
    total.blobs += erasure.blobs;
    total.content_bytes += erasure.content_bytes;
    Add(std::move(erased));
  }
  return total;
}

void Reclaimer::Add(ErasedContents erased) {
  std::lock_guard lock(mutex_);
  pending_.merge(erased);
}

absl::Status Reclaimer::EraseOne(Batch& batch, const Digest& digest, uint64_t condemned_until_ms,
                                 ErasedContents& erased, Erasure& erasure) {
  absl::StatusOr<std::optional<std::string>> since = batch.Get(database_.condemned(), digest.view());
  if (!since.ok()) return since.status();
  if (!since->has_value()) return absl::OkStatus();
  absl::StatusOr<uint64_t> since_ms = DecodeNumber(digest.view(), **since);
  if (!since_ms.ok()) return since_ms.status();
  if (*since_ms > condemned_until_ms) return absl::OkStatus();
  absl::StatusOr<std::optional<uint64_t>> leased_until_ms = LiveLease(database_, batch, digest);
  if (!leased_until_ms.ok()) return leased_until_ms.status();
  if (leased_until_ms->has_value()) {
    batch.Put(database_.condemned(), digest.view(), EncodeNumber(digest.view(), **leased_until_ms));
    return absl::OkStatus();
  }
  absl::StatusOr<Present> present = FindRecord(database_, batch, digest);
  if (!present.ok()) return present.status();
  // Whatever it turns out to be: once this batch is written it is condemned no more.
  batch.Delete(database_.condemned(), digest.view());
  if (!present->record.has_value()) return absl::OkStatus();
  const Record& record = *present->record;
  absl::StatusOr<bool> is_linked = IsLinked(database_, batch, digest, record);
  if (!is_linked.ok() || *is_linked) return is_linked.status();
  if (absl::Status status = RemoveRecord(database_, batch, digest, record); !status.ok()) return status;
  ++erasure.blobs;
  erasure.content_bytes += record.size_bytes;
  NoteErased(database_, batch, record, erased);
  return absl::OkStatus();
}

absl::Status Reclaimer::RemovePieces() {
  while (true) {
    ErasedContents slice;
    {
      std::lock_guard lock(mutex_);
      for (auto entry = pending_.begin(); entry != pending_.end() && slice.size() < kRemoveSlice;) {
        const auto next = std::next(entry);
        // Nobody pins it from now on: its record is gone.
        if (!pins_.IsPinned(entry->first)) slice.insert(pending_.extract(entry));
        entry = next;
      }
    }
    if (slice.empty()) return absl::OkStatus();
    if (absl::Status status = RemoveSlice(slice); !status.ok()) {
      std::lock_guard lock(mutex_);
      pending_.merge(slice);
      return status;
    }
  }
}

absl::Status Reclaimer::CompactGathered(const DiskSpace& disk_space) {
  uint64_t stored_bytes = 0;
  uint64_t compacted_bytes = 0;
  database_.db().GetIntProperty(database_.gathered(), rocksdb::DB::Properties::kTotalSstFilesSize, &stored_bytes);
  {
    std::lock_guard lock(mutex_);
    if (garbage_bytes_ < std::max(kMinGarbageBytes, stored_bytes / kGarbageShare)) return absl::OkStatus();
    // The old files stay until the new ones are whole.
    if (absl::Status status = disk_space.Check(stored_bytes); !status.ok()) return status;
    compacted_bytes = garbage_bytes_;
  }
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  absl::Status status = ToStatus(database_.db().CompactRange(options, database_.gathered(), nullptr, nullptr),
                                 "compacting gathered content");
  if (!status.ok()) return status;
  std::lock_guard lock(mutex_);
  garbage_bytes_ -= compacted_bytes;
  return absl::OkStatus();
}

absl::Status Reclaimer::RemoveSlice(const ErasedContents& slice) {
  const std::shared_lock no_checkpoint(database_.publish_gate());
  std::vector<ContentId> ingested;
  for (const auto& [content, erased] : slice) {
    if (erased.placement == Placement::kIngested) ingested.push_back(content);
  }
  if (absl::Status status = DropIngested(database_, committer_, ingested); !status.ok()) return status;
  uint64_t gathered_bytes = 0;
  absl::Status status = committer_.Commit(
      0,
      [&](Batch& batch) {
        for (const auto& [content, erased] : slice) {
          if (erased.placement == Placement::kGathered) {
            DeleteGathered(database_, batch, content, erased.size_bytes);
            gathered_bytes += erased.size_bytes;
          }
          batch.Delete(database_.meta(), ErasedKey(content));
        }
        return absl::OkStatus();
      },
      Lane::kBulk);
  if (!status.ok()) return status;
  std::lock_guard lock(mutex_);
  garbage_bytes_ += gathered_bytes;
  return absl::OkStatus();
}

}  // namespace coffer::rocks
