// SPDX-License-Identifier: Apache-2.0
//
// The rows of a column family as they are in its table files on the disk, past every cache. Each file is read by a
// reader of its own, front to back as long as keys ascend, and its checksums are verified. An open file is not lost
// when the database drops it; one that was dropped before it was opened has its rows in another, and the list is read
// anew.
#pragma once

#include <rocksdb/metadata.h>
#include <rocksdb/sst_file_reader.h>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "storage/rocks/database.h"

namespace coffer::rocks {

// Used by one thread at a time. Holds a few files open, about 5 MiB each.
class DiskRows {
 public:
  // Borrows all three.
  DiskRows(Database& database, rocksdb::ColumnFamilyHandle* family, rocksdb::Env* disk_env);

  // The newest value of `key` in the files, until the next call; or nothing. A deletion that is newer than the value is
  // not seen. DATA_LOSS if a file that may have it is damaged there, UNAVAILABLE.
  absl::StatusOr<std::optional<absl::string_view>> Get(absl::string_view key);

  // Forgets the files: the next call looks which there are now.
  void Refresh();

 private:
  struct File {
    std::string path;
    std::string smallest;
    std::string largest;
  };
  struct Reader {
    std::string path;
    std::unique_ptr<rocksdb::SstFileReader> table;
    std::unique_ptr<rocksdb::Iterator> rows;
    // Where the last look-up was; empty: unknown.
    std::string last_key;
  };

  void ReadList();
  absl::StatusOr<std::optional<absl::string_view>> Find(absl::string_view key);
  // NOT_FOUND if the file is gone.
  absl::StatusOr<Reader*> Open(const File& file);
  static absl::StatusOr<std::optional<absl::string_view>> Look(Reader& reader, absl::string_view key);

  Database& database_;
  rocksdb::ColumnFamilyHandle* const family_;
  rocksdb::Options options_;
  bool is_listed_ = false;
  // Newest first: each file of level 0 is a run of its own, in the levels below their files are together one, in order
  // of keys.
  std::vector<std::vector<File>> runs_;
  // The one used last in front.
  std::list<Reader> readers_;
};

}  // namespace coffer::rocks
