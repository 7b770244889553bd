// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/rows.h"

#include <memory>
#include <utility>

#include "absl/strings/match.h"
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

absl::Status ScanRows(Database& database, rocksdb::ColumnFamilyHandle* family, const ScanOptions& options,
                      absl::FunctionRef<absl::Status(absl::string_view, absl::string_view)> row) {
  rocksdb::ReadOptions read;
  read.fill_cache = options.fill_cache;
  const std::unique_ptr<rocksdb::Iterator> scan(database.db().NewIterator(read, family));
  if (options.after < options.prefix) {
    scan->Seek(ToSlice(options.prefix));
  } else {
    // The first key behind another is that one and a zero byte.
    const std::string from = options.after.empty() ? "" : absl::StrCat(options.after, absl::string_view("\0", 1));
    scan->Seek(from);
  }
  for (size_t rows = 0; rows < options.limit && scan->Valid(); ++rows, scan->Next()) {
    if (!absl::StartsWith(ToView(scan->key()), options.prefix)) break;
    absl::Status status = row(ToView(scan->key()), ToView(scan->value()));
    if (!status.ok()) return status;
  }
  return ToStatus(scan->status(), absl::StrCat("reading the rows of ", family->GetName()));
}

}  // namespace coffer::rocks
