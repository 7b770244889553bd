// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/rows.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace coffer::rocks {

absl::StatusOr<std::optional<std::string>> ReadRow(Database& database, rocksdb::ColumnFamilyHandle* family,
                                                   absl::string_view key) {
  std::string value;
  const rocksdb::Status status = database.db().Get(rocksdb::ReadOptions(), family, ToSlice(key), &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return ToStatus(status, absl::StrCat("reading a row of ", family->GetName()));
  return std::optional<std::string>(std::move(value));
}

absl::Status ScanRows(Database& database, rocksdb::ColumnFamilyHandle* family, absl::string_view from,
                      absl::FunctionRef<absl::Status(absl::string_view, absl::string_view)> row) {
  const std::unique_ptr<rocksdb::Iterator> scan(database.db().NewIterator(rocksdb::ReadOptions(), family));
  for (scan->Seek(ToSlice(from)); scan->Valid(); scan->Next()) {
    absl::Status status = row(ToView(scan->key()), ToView(scan->value()));
    if (absl::IsCancelled(status)) return absl::OkStatus();
    if (!status.ok()) return status;
  }
  return ToStatus(scan->status(), absl::StrCat("reading the rows of ", family->GetName()));
}

}  // namespace coffer::rocks
