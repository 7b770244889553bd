// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "storage/rocks/database.h"
#include "storage/rocks/disk_space.h"

namespace coffer::rocks {

// Bounds the number of ingested files: each one slows every ingest a little, and blobs of 8 MiB bring one each. When
// more than `max_small_files` are small (below 64 MiB), one run of neighbours of up to 1 GiB in all becomes files of
// 256 MiB; those bytes are written a second time. So there are at most that many, and one for each 32 MiB of content
// beside them. Blocks while it writes. RESOURCE_EXHAUSTED if the disk has no room, DATA_LOSS, UNAVAILABLE.
absl::Status MergeSmallFiles(Database& database, const DiskSpace& disk_space, uint64_t max_small_files);

}  // namespace coffer::rocks
