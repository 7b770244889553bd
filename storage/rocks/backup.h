// SPDX-License-Identifier: Apache-2.0
//
// A backup of a store that is served:
//
//   1. flush, so that the next steps are short;
//   2. with the gate held alone, so that no publishing is half done: a checkpoint, which is hard links of the
//      table files and copies of what changes;
//   3. copy from the checkpoint to a name that no backup has, under the backup directory; a table file that an
//      earlier backup has is linked from there. What is copied has the checksum that the database keeps of it;
//   4. open the copy: all rows fit each other, every record has all its pieces, and the content of some hashes to
//      its digest;
//   5. sync, rename to NAME, sync the directory.
//
// What a crash leaves, the next backup of that name removes, and the next start the checkpoint.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/engine.h"
#include "storage/rocks/database.h"

namespace coffer::rocks {

// Makes backup `name`, a single path component, in `backup_dir`, which is made if it does not exist. ALREADY_EXISTS;
// DATA_LOSS if something in the store is damaged, and there is no backup then; RESOURCE_EXHAUSTED if the disk is full;
// UNAVAILABLE. One at a time.
absl::StatusOr<BackupSummary> MakeBackup(Database& database, const std::string& data_dir, const std::string& backup_dir,
                                         const std::string& name);

// Step 4 for any directory that holds db/; returns how many blobs there are. `parts`: the content of one blob in so
// many is read; with 1 every block of every table as well. DATA_LOSS names the first thing that is wrong.
absl::StatusOr<uint64_t> ResolveEverything(const std::string& directory, uint64_t parts);

}  // namespace coffer::rocks
