// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/batch.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace coffer::rocks {

const Batch::Value* Batch::FindChange(uint32_t family, absl::string_view key) const {
  const auto change = changes_.find(std::make_pair(family, key));
  return change == changes_.end() ? nullptr : &change->second;
}

absl::StatusOr<std::optional<std::string>> Batch::Get(rocksdb::ColumnFamilyHandle* family,
                                                      absl::string_view key) const {
  if (const Value* change = FindChange(family->GetID(), key)) return *change;
  if (before_ != nullptr) {
    if (const Value* change = before_->FindChange(family->GetID(), key)) return *change;
  }
  std::string value;
  const rocksdb::Status status = database_.db().Get(rocksdb::ReadOptions(), family, ToSlice(key), &value);
  if (status.IsNotFound()) return Value();
  if (!status.ok()) return ToStatus(status, absl::StrCat("reading a row of ", family->GetName()));
  return Value(std::move(value));
}

void Batch::Change(rocksdb::ColumnFamilyHandle* family, absl::string_view key, Value value) {
  RowKey row(family->GetID(), key);
  const auto [change, is_new] = changes_.try_emplace(row);
  undo_.emplace_back(std::move(row), is_new ? std::nullopt : std::optional<Value>(std::move(change->second)));
  change->second = std::move(value);
}

void Batch::Put(rocksdb::ColumnFamilyHandle* family, absl::string_view key, absl::string_view value) {
  rows_.Put(family, ToSlice(key), ToSlice(value)).PermitUncheckedError();
  Change(family, key, std::string(value));
}

void Batch::PutContent(rocksdb::ColumnFamilyHandle* family, absl::string_view key,
                       std::initializer_list<absl::string_view> value) {
  const rocksdb::Slice key_slice = ToSlice(key);
  std::vector<rocksdb::Slice> parts;
  for (const absl::string_view part : value) parts.push_back(ToSlice(part));
  rows_
      .Put(family, rocksdb::SliceParts(&key_slice, 1),
           rocksdb::SliceParts(parts.data(), static_cast<int>(parts.size())))
      .PermitUncheckedError();
}

void Batch::Delete(rocksdb::ColumnFamilyHandle* family, absl::string_view key) {
  rows_.Delete(family, ToSlice(key)).PermitUncheckedError();
  Change(family, key, std::nullopt);
}

absl::Status Batch::Scan(rocksdb::ColumnFamilyHandle* family, absl::string_view prefix,
                         absl::FunctionRef<bool(absl::string_view, absl::string_view)> row) const {
  const uint32_t id = family->GetID();
  for (const Batch* batch : {this, before_.get()}) {
    if (batch == nullptr) continue;
    auto change = batch->changes_.lower_bound(std::make_pair(id, prefix));
    for (; change != batch->changes_.end(); ++change) {
      const auto& [changed_family, key] = change->first;
      if (changed_family != id || !absl::StartsWith(key, prefix)) break;
      if (batch != this && FindChange(id, key) != nullptr) continue;
      if (change->second.has_value() && !row(key, *change->second)) return absl::OkStatus();
    }
  }
  const std::unique_ptr<rocksdb::Iterator> scan(database_.db().NewIterator(rocksdb::ReadOptions(), family));
  for (scan->Seek(ToSlice(prefix)); scan->Valid(); scan->Next()) {
    const absl::string_view key = ToView(scan->key());
    if (!absl::StartsWith(key, prefix)) break;
    if (FindChange(id, key) != nullptr) continue;
    if (before_ != nullptr && before_->FindChange(id, key) != nullptr) continue;
    if (!row(key, ToView(scan->value()))) return absl::OkStatus();
  }
  return ToStatus(scan->status(), absl::StrCat("reading rows of ", family->GetName()));
}

void Batch::BeginOperation() {
  rows_.SetSavePoint();
  undo_.clear();
  totals_before_operation_ = totals;
}

void Batch::KeepOperation() { rows_.PopSavePoint().PermitUncheckedError(); }

void Batch::TakeOperationBack() {
  rows_.RollbackToSavePoint().PermitUncheckedError();
  for (auto change = undo_.rbegin(); change != undo_.rend(); ++change) {
    if (change->second.has_value()) {
      changes_[change->first] = *std::move(change->second);
    } else {
      changes_.erase(change->first);
    }
  }
  totals = totals_before_operation_;
}

}  // namespace coffer::rocks
