// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/committer.h"

#include "absl/strings/str_cat.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/log_trailer.h"

namespace coffer::rocks {

Committer::Waiter::Call Committer::Waiter::Sleep() {
  std::unique_lock lock(mutex_);
  wakes_.wait(lock, [this] { return call_ != Call::kNone; });
  return call_;
}

void Committer::Waiter::Wake(Call call) {
  {
    std::lock_guard lock(mutex_);
    call_ = call;
  }
  wakes_.notify_one();
}

absl::Status Committer::Commit(size_t size_bytes, Operation operation, Lane lane) {
  const auto waiter = std::make_shared<Waiter>(operation, size_bytes);
  bool builds = false;
  {
    std::lock_guard lock(mutex_);
    (lane == Lane::kBulk ? bulk_ : callers_).push_back(waiter);
    builds = !std::exchange(has_builder_, true);
    if (!builds) builder_wakes_.notify_one();
  }
  if (!builds && waiter->Sleep() == Waiter::Call::kDone) return waiter->status;
  // Whoever builds is the first of its lane, so its own operation is in the batch.
  BuildAndWrite(*waiter);
  return waiter->status;
}

bool Committer::CanTake(const Group& group) const {
  if (!bulk_.empty() && !group.has_bulk) return true;
  if (callers_.empty()) return false;
  // However large: its caller may be the builder.
  if (!group.has_caller) return true;
  return group.members.size() < kGroupOperations && group.size_bytes + callers_.front()->size_bytes <= kGroupBytes;
}

std::shared_ptr<Committer::Waiter> Committer::Take(Group& group) {
  if (!CanTake(group)) return nullptr;
  const bool is_bulk = !bulk_.empty() && !group.has_bulk;
  auto& lane = is_bulk ? bulk_ : callers_;
  std::shared_ptr<Waiter> waiter = std::move(lane.front());
  lane.pop_front();
  (is_bulk ? group.has_bulk : group.has_caller) = true;
  group.size_bytes += waiter->size_bytes;
  group.members.push_back(waiter);
  return waiter;
}

void Committer::BuildAndWrite(Waiter& self) {
  std::unique_lock lock(mutex_);
  const EngineTotals& before = in_flight_ != nullptr ? in_flight_->totals : totals_;
  const auto batch = std::make_shared<Batch>(database_, in_flight_, before, uptime_ms_());
  Group group;
  while (true) {
    while (const std::shared_ptr<Waiter> waiter = Take(group)) {
      lock.unlock();
      batch->BeginOperation();
      waiter->status = waiter->operation(*batch);
      waiter->status.ok() ? batch->KeepOperation() : batch->TakeOperationBack();
      lock.lock();
    }
    if (in_flight_ == nullptr) break;
    builder_wakes_.wait(lock, [&] { return in_flight_ == nullptr || CanTake(group); });
  }
  in_flight_ = batch;
  WakeNextBuilder();
  lock.unlock();
  const absl::Status written = Write(*batch);
  lock.lock();
  if (written.ok()) totals_ = batch->totals;
  in_flight_ = nullptr;
  builder_wakes_.notify_one();
  lock.unlock();
  for (const std::shared_ptr<Waiter>& member : group.members) {
    if (member->status.ok()) member->status = written;
    if (member.get() != &self) member->Wake(Waiter::Call::kDone);
  }
}

void Committer::WakeNextBuilder() {
  has_builder_ = !callers_.empty() || !bulk_.empty();
  if (has_builder_) (callers_.empty() ? bulk_ : callers_).front()->Wake(Waiter::Call::kBuild);
}

absl::Status Committer::Write(Batch& batch) {
  const std::shared_ptr<const Batch> before = std::move(batch.before_);
  if (!failure_.ok()) return batch.failure_ = failure_;
  if (before != nullptr && !before->failure_.ok()) return batch.failure_ = before->failure_;
  if (batch.rows_.Count() == 0) return absl::OkStatus();

  // Past the batch's own Put: the next batch reads its changes by now.
  const auto put = [&](absl::string_view key, const std::string& value) {
    batch.rows_.Put(database_.meta(), ToSlice(key), value).PermitUncheckedError();
  };
  put(kTotalsKey, EncodeTotals(kTotalsKey, batch.totals));
  put(kUptimeKey, EncodeNumber(kUptimeKey, batch.uptime_ms()));
  const size_t batch_bytes = batch.rows_.GetDataSize();
  if (absl::Status room = disk_space_.CheckLog(batch_bytes); !room.ok()) return batch.failure_ = room;
  const LogTrailer trailer{previous_sequence_, batch_bytes + LogTrailer::kEntryBytes};
  batch.rows_.PutLogData(trailer.EncodeNote()).PermitUncheckedError();
  rocksdb::WriteOptions options;
  options.sync = true;
  options.protection_bytes_per_key = kProtectionBytes;
  const bool waits_for_space = database_.waits_for_space();
  const rocksdb::Status written = database_.db().Write(options, &batch.rows_);
  if (written.ok()) {
    // A batch begins with its sequence number.
    previous_sequence_ = LittleEndian64(batch.rows_.Data().data());
    return absl::OkStatus();
  }
  if (waits_for_space && written.IsNoSpace()) return batch.failure_ = ToStatus(written, "no space");
  failure_ = absl::UnavailableError(absl::StrCat(
      "the store accepts no more changes until it is restarted, because a write failed: ", written.ToString()));
  return batch.failure_ = failure_;
}

EngineTotals Committer::totals() const {
  std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace coffer::rocks
