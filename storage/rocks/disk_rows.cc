// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/disk_rows.h"

#include <rocksdb/table.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace coffer::rocks {
namespace {

// A scan goes forward in one file of each run.
constexpr size_t kOpenFiles = 8;
// How often the list of files may be stale in a row.
constexpr int kTries = 5;

}  // namespace

DiskRows::DiskRows(Database& database, rocksdb::ColumnFamilyHandle* family, rocksdb::Env* disk_env)
    : database_(database), family_(family) {
  options_.env = disk_env;
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
}

void DiskRows::Refresh() {
  is_listed_ = false;
  runs_.clear();
  readers_.clear();
}

void DiskRows::ReadList() {
  is_listed_ = true;
  runs_.clear();
  rocksdb::ColumnFamilyMetaData family;
  database_.db().GetColumnFamilyMetaData(family_, &family);
  for (const rocksdb::LevelMetaData& level : family.levels) {
    const auto order = [&](const rocksdb::SstFileMetaData& a, const rocksdb::SstFileMetaData& b) {
      return level.level == 0 ? a.largest_seqno > b.largest_seqno : a.smallestkey < b.smallestkey;
    };
    std::vector<rocksdb::SstFileMetaData> sorted = level.files;
    std::sort(sorted.begin(), sorted.end(), order);
    std::vector<File> run;
    for (const rocksdb::SstFileMetaData& file : sorted) {
      run.push_back({file.db_path + file.name, file.smallestkey, file.largestkey});
      if (level.level == 0) runs_.push_back(std::exchange(run, {}));
    }
    if (!run.empty()) runs_.push_back(std::move(run));
  }
}

absl::StatusOr<std::optional<absl::string_view>> DiskRows::Get(absl::string_view key) {
  for (int tries = 0; tries < kTries; ++tries) {
    if (!is_listed_) ReadList();
    absl::StatusOr<std::optional<absl::string_view>> found = Find(key);
    if (!absl::IsNotFound(found.status())) return found;
    Refresh();
  }
  return absl::UnavailableError(absl::StrCat("the files of ", family_->GetName(), " change too fast to be read"));
}

absl::StatusOr<std::optional<absl::string_view>> DiskRows::Find(absl::string_view key) {
  for (const std::vector<File>& run : runs_) {
    const auto file = std::lower_bound(run.begin(), run.end(), key,
                                       [](const File& f, absl::string_view wanted) { return f.largest < wanted; });
    if (file == run.end() || key < file->smallest) continue;
    absl::StatusOr<Reader*> reader = Open(*file);
    if (!reader.ok()) return reader.status();
    absl::StatusOr<std::optional<absl::string_view>> found = Look(**reader, key);
    if (!found.ok() || found->has_value()) return found;
  }
  return std::optional<absl::string_view>();
}

absl::StatusOr<DiskRows::Reader*> DiskRows::Open(const File& file) {
  for (auto reader = readers_.begin(); reader != readers_.end(); ++reader) {
    if (reader->path != file.path) continue;
    readers_.splice(readers_.begin(), readers_, reader);
    return &readers_.front();
  }
  auto table = std::make_unique<rocksdb::SstFileReader>(options_);
  const rocksdb::Status status = table->Open(file.path);
  if (status.IsPathNotFound()) return absl::NotFoundError(file.path);
  if (!status.ok()) return ToStatus(status, absl::StrCat("opening ", file.path));
  if (readers_.size() == kOpenFiles) readers_.pop_back();
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  readers_.push_front({file.path, std::move(table), nullptr, ""});
  readers_.front().rows.reset(readers_.front().table->NewIterator(read));
  return &readers_.front();
}

absl::StatusOr<std::optional<absl::string_view>> DiskRows::Look(Reader& reader, absl::string_view key) {
  rocksdb::Iterator& rows = *reader.rows;
  const bool is_behind = !reader.last_key.empty() && reader.last_key <= key;
  // Mostly the row is the one that was looked at last, or the next.
  if (is_behind && rows.Valid() && ToView(rows.key()) < key) rows.Next();
  if (!is_behind || (rows.Valid() && ToView(rows.key()) < key)) rows.Seek(ToSlice(key));
  if (!rows.status().ok()) {
    reader.last_key.clear();
    return ToStatus(rows.status(), absl::StrCat("reading ", reader.path));
  }
  reader.last_key.assign(key.data(), key.size());
  if (!rows.Valid() || ToView(rows.key()) != key) return std::optional<absl::string_view>();
  return std::optional<absl::string_view>(ToView(rows.value()));
}

}  // namespace coffer::rocks
