// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/committer.h"

#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/log_trailer.h"

namespace coffer::rocks {

absl::StatusOr<std::optional<std::string>> Batch::Get(rocksdb::ColumnFamilyHandle* family, absl::string_view key) {
  std::string value;
  const rocksdb::Status status =
      rows_.GetFromBatchAndDB(&database_.db(), rocksdb::ReadOptions(), family, ToSlice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return ToStatus(status, absl::StrCat("reading a row of ", family->GetName()));
  return std::optional<std::string>(std::move(value));
}

void Batch::Put(rocksdb::ColumnFamilyHandle* family, absl::string_view key, absl::string_view value) {
  rows_.Put(family, ToSlice(key), ToSlice(value)).PermitUncheckedError();
}

void Batch::PutContent(rocksdb::ColumnFamilyHandle* family, absl::string_view key,
                       std::initializer_list<absl::string_view> value) {
  const rocksdb::Slice key_slice = ToSlice(key);
  std::vector<rocksdb::Slice> parts;
  for (const absl::string_view part : value) parts.push_back(ToSlice(part));
  // Past the index, which every indexed row makes larger.
  rows_.GetWriteBatch()
      ->Put(family, rocksdb::SliceParts(&key_slice, 1),
            rocksdb::SliceParts(parts.data(), static_cast<int>(parts.size())))
      .PermitUncheckedError();
}

void Batch::Delete(rocksdb::ColumnFamilyHandle* family, absl::string_view key) {
  rows_.Delete(family, ToSlice(key)).PermitUncheckedError();
}

absl::Status Batch::Scan(rocksdb::ColumnFamilyHandle* family, absl::string_view prefix,
                         absl::FunctionRef<bool(absl::string_view, absl::string_view)> row) {
  const std::unique_ptr<rocksdb::Iterator> scan(
      rows_.NewIteratorWithBase(family, database_.db().NewIterator(rocksdb::ReadOptions(), family)));
  for (scan->Seek(ToSlice(prefix)); scan->Valid(); scan->Next()) {
    if (!absl::StartsWith(ToView(scan->key()), prefix) || !row(ToView(scan->key()), ToView(scan->value()))) break;
  }
  return ToStatus(scan->status(), absl::StrCat("reading rows of ", family->GetName()));
}

absl::Status Committer::Commit(size_t size_bytes, Operation operation, Lane lane) {
  Waiter waiter{operation, size_bytes, {}, false, {}};
  std::unique_lock lock(mutex_);
  (lane == Lane::kBulk ? bulk_ : callers_).push_back(&waiter);
  waiter.wake.wait(lock, [&] { return waiter.done || (!is_running_ && Next() == &waiter); });
  if (waiter.done) return waiter.status;

  is_running_ = true;
  const std::vector<Waiter*> group = TakeGroup();
  lock.unlock();
  Run(group);
  lock.lock();
  is_running_ = false;
  for (Waiter* member : group) {
    member->done = true;
    if (member != &waiter) member->wake.notify_one();
  }
  if (Waiter* next = Next(); next != nullptr) next->wake.notify_one();
  return waiter.status;
}

Committer::Waiter* Committer::Next() const {
  if (!callers_.empty()) return callers_.front();
  return bulk_.empty() ? nullptr : bulk_.front();
}

std::vector<Committer::Waiter*> Committer::TakeGroup() {
  std::vector<Waiter*> group;
  size_t group_bytes = 0;
  while (!callers_.empty() && group.size() < kGroupOperations) {
    Waiter* const next = callers_.front();
    if (!group.empty() && group_bytes + next->size_bytes > kGroupBytes) break;
    group_bytes += next->size_bytes;
    group.push_back(next);
    callers_.pop_front();
  }
  if (!bulk_.empty()) {
    group.push_back(bulk_.front());
    bulk_.pop_front();
  }
  return group;
}

void Committer::Run(const std::vector<Waiter*>& group) {
  Batch batch(database_, totals(), uptime_ms_());
  for (Waiter* member : group) {
    member->status = failure_;
    if (!member->status.ok()) continue;
    const EngineTotals before = batch.totals;
    const auto rows_before = batch.rows_.GetWriteBatch()->Count();
    batch.rows_.SetSavePoint();
    member->status = member->operation(batch);
    // Rolling back builds the whole index anew: most that fail have written nothing.
    if (member->status.ok() || batch.rows_.GetWriteBatch()->Count() == rows_before) {
      batch.rows_.PopSavePoint().PermitUncheckedError();
    } else {
      batch.rows_.RollbackToSavePoint().PermitUncheckedError();
      batch.totals = before;
    }
  }
  if (batch.rows_.GetWriteBatch()->Count() == 0) return;

  batch.Put(database_.meta(), kTotalsKey, EncodeTotals(kTotalsKey, batch.totals));
  batch.Put(database_.meta(), kUptimeKey, EncodeNumber(kUptimeKey, batch.uptime_ms()));
  rocksdb::WriteBatch* const rows = batch.rows_.GetWriteBatch();
  if (absl::Status room = disk_space_.CheckLog(rows->GetDataSize()); !room.ok()) {
    for (Waiter* member : group) {
      if (member->status.ok()) member->status = room;
    }
    return;
  }
  const LogTrailer trailer{previous_sequence_, rows->GetDataSize() + LogTrailer::kEntryBytes};
  rows->PutLogData(trailer.EncodeNote()).PermitUncheckedError();
  rocksdb::WriteOptions options;
  options.sync = true;
  options.protection_bytes_per_key = Batch::kProtectionBytes;
  const bool waits_for_space = database_.waits_for_space();
  const rocksdb::Status written = database_.db().Write(options, rows);
  if (written.ok()) {
    // A batch begins with its sequence number.
    previous_sequence_ = LittleEndian64(rows->Data().data());
    std::lock_guard lock(mutex_);
    totals_ = batch.totals;
    return;
  }
  absl::Status failure;
  if (waits_for_space && written.IsNoSpace()) {
    failure = ToStatus(written, "no space");
  } else {
    failure = failure_ = absl::UnavailableError(absl::StrCat(
        "the store accepts no more changes until it is restarted, because a write failed: ", written.ToString()));
  }
  for (Waiter* member : group) {
    if (member->status.ok()) member->status = failure;
  }
}

EngineTotals Committer::totals() const {
  std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace coffer::rocks
