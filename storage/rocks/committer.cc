// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/committer.h"

#include "absl/strings/str_cat.h"
#include "storage/rocks/encoding.h"

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

void Batch::Delete(rocksdb::ColumnFamilyHandle* family, absl::string_view key) {
  rows_.Delete(family, ToSlice(key)).PermitUncheckedError();
}

absl::Status Committer::Commit(size_t size_bytes, Operation operation) {
  Waiter waiter{operation, size_bytes, {}, false, {}};
  std::unique_lock lock(mutex_);
  queue_.push_back(&waiter);
  waiter.wake.wait(lock, [&] { return waiter.done || queue_.front() == &waiter; });
  if (waiter.done) return waiter.status;

  std::deque<Waiter*> group;
  size_t group_bytes = 0;
  for (Waiter* next : queue_) {
    if (group.size() == kGroupOperations || (!group.empty() && group_bytes + next->size_bytes > kGroupBytes)) break;
    group.push_back(next);
    group_bytes += next->size_bytes;
  }
  lock.unlock();
  Run(group);
  lock.lock();
  for (Waiter* member : group) {
    queue_.pop_front();
    member->done = true;
    if (member != &waiter) member->wake.notify_one();
  }
  if (!queue_.empty()) queue_.front()->wake.notify_one();
  return waiter.status;
}

void Committer::Run(const std::deque<Waiter*>& group) {
  Batch batch(database_, totals());
  for (Waiter* member : group) {
    member->status = failure_;
    if (!member->status.ok()) continue;
    const EngineTotals before = batch.totals;
    batch.rows_.SetSavePoint();
    member->status = member->operation(batch);
    if (member->status.ok()) {
      batch.rows_.PopSavePoint().PermitUncheckedError();
    } else {
      batch.rows_.RollbackToSavePoint().PermitUncheckedError();
      batch.totals = before;
    }
  }
  if (batch.rows_.GetWriteBatch()->Count() == 0) return;

  batch.Put(database_.meta(), kTotalsKey, EncodeTotals(kTotalsKey, batch.totals));
  rocksdb::WriteOptions options;
  options.sync = true;
  const bool waits_for_space = database_.waits_for_space();
  const rocksdb::Status written = database_.db().Write(options, batch.rows_.GetWriteBatch());
  if (written.ok()) {
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
