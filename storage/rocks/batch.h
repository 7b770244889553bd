// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rocksdb/write_batch.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/engine.h"
#include "storage/rocks/database.h"

namespace coffer::rocks {

// Rows that will be written together, and the database as it will be then: with the rows of the batch that is being
// written now, and with these on top. Used by one operation at a time; once it is being written, read by the next
// batch.
class Batch {
 public:
  // `before`: the batch that is being written, or null.
  Batch(Database& database, std::shared_ptr<const Batch> before, const EngineTotals& totals, uint64_t uptime_ms)
      : totals(totals), database_(database), before_(std::move(before)), uptime_ms_(uptime_ms) {}

  // The value, or nothing. DATA_LOSS, UNAVAILABLE.
  absl::StatusOr<std::optional<std::string>> Get(rocksdb::ColumnFamilyHandle* family, absl::string_view key) const;
  void Put(rocksdb::ColumnFamilyHandle* family, absl::string_view key, absl::string_view value);
  // Puts a row that Get need not find, its value in parts: bytes of content, which are copied once.
  void PutContent(rocksdb::ColumnFamilyHandle* family, absl::string_view key,
                  std::initializer_list<absl::string_view> value);
  void Delete(rocksdb::ColumnFamilyHandle* family, absl::string_view key);
  // Calls `row` with key and value of the rows whose key starts with `prefix`, in no order, until it returns false.
  // DATA_LOSS, UNAVAILABLE.
  absl::Status Scan(rocksdb::ColumnFamilyHandle* family, absl::string_view prefix,
                    absl::FunctionRef<bool(absl::string_view, absl::string_view)> row) const;

  // The store's age in served time when this batch was begun.
  uint64_t uptime_ms() const { return uptime_ms_; }

  // What the totals are once the batch is written.
  EngineTotals totals;

 private:
  friend class Committer;

  // A column family and a key.
  using RowKey = std::pair<uint32_t, std::string>;
  struct RowKeyLess {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return a.first != b.first ? a.first < b.first : absl::string_view(a.second) < absl::string_view(b.second);
    }
  };
  using Value = std::optional<std::string>;
  // Nothing: the row is deleted.
  using Changes = absl::btree_map<RowKey, Value, RowKeyLess>;

  void Change(rocksdb::ColumnFamilyHandle* family, absl::string_view key, Value value);
  const Value* FindChange(uint32_t family, absl::string_view key) const;

  // An operation begins; it is kept; or all that it has done is taken back.
  void BeginOperation();
  void KeepOperation();
  void TakeOperationBack();

  Database& database_;
  std::shared_ptr<const Batch> before_;
  const uint64_t uptime_ms_;
  // Eight bytes a row protect it from here to the memtable.
  rocksdb::WriteBatch rows_{0, 0, kProtectionBytes, 0};
  // What the rows change, but for those of content.
  Changes changes_;
  // What the operation under way found in changes_ where it changed it, in its order.
  std::vector<std::pair<RowKey, std::optional<Value>>> undo_;
  EngineTotals totals_before_operation_;
  // Why it could not be written; set before the next batch is.
  absl::Status failure_;
};

}  // namespace coffer::rocks
