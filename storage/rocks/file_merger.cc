// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/file_merger.h"

#include <rocksdb/metadata.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace coffer::rocks {
namespace {

constexpr uint64_t kSmallFileBytes = uint64_t{64} << 20;
// Long enough to make whole files of, short enough to be over within seconds.
constexpr uint64_t kRunBytes = uint64_t{1} << 30;

// Files of the last level, where ingested files go, in order of keys.
std::vector<rocksdb::SstFileMetaData> LastLevel(const rocksdb::ColumnFamilyMetaData& family) {
  std::vector<rocksdb::SstFileMetaData> files = family.levels.back().files;
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.smallestkey < b.smallestkey; });
  return files;
}

struct Run {
  std::vector<std::string> names;
  uint64_t size_bytes = 0;
};

// The run of neighbouring small files that saves most.
Run LongestRun(const std::vector<rocksdb::SstFileMetaData>& files) {
  Run longest;
  Run run;
  for (const rocksdb::SstFileMetaData& file : files) {
    if (file.size >= kSmallFileBytes || file.being_compacted || run.size_bytes + file.size > kRunBytes) run = {};
    if (file.size >= kSmallFileBytes || file.being_compacted) continue;
    run.names.push_back(file.name);
    run.size_bytes += file.size;
    if (run.names.size() > longest.names.size()) longest = run;
  }
  return longest;
}

}  // namespace

absl::Status MergeSmallFiles(Database& database, const DiskSpace& disk_space, uint64_t max_small_files) {
  rocksdb::ColumnFamilyMetaData family;
  database.db().GetColumnFamilyMetaData(database.ingested(), &family);
  if (family.file_count <= max_small_files) return absl::OkStatus();
  const std::vector<rocksdb::SstFileMetaData> files = LastLevel(family);
  const auto small = std::count_if(files.begin(), files.end(), [](const auto& f) { return f.size < kSmallFileBytes; });
  if (static_cast<uint64_t>(small) <= max_small_files) return absl::OkStatus();
  const Run run = LongestRun(files);
  if (run.names.size() < 2) return absl::OkStatus();
  if (absl::Status status = disk_space.Check(run.size_bytes); !status.ok()) return status;
  rocksdb::CompactionOptions options;
  options.compression = rocksdb::kNoCompression;
  options.output_file_size_limit = kContentFileBytes;
  const rocksdb::Status merged =
      database.db().CompactFiles(options, database.ingested(), run.names, family.levels.back().level);
  // A file that was dropped or taken by a compaction meanwhile: the next call chooses anew.
  if (merged.IsAborted() || merged.IsInvalidArgument()) return absl::OkStatus();
  return ToStatus(merged, "merging small files");
}

}  // namespace coffer::rocks
