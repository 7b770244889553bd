// SPDX-License-Identifier: Apache-2.0
//
// A file that holds space and nothing else: when others fill the disk it is removed, and deletes, collection and the
// flushes that they need have room.
#pragma once

#include <string>

#include "storage/rocks/disk_space.h"

namespace coffer::rocks {

// Makes the ballast of a data directory if it is missing and there is more free than the low-water mark and the
// ballast; removes it if half of the low-water mark is free or less. One that cannot be made is made another time.
void AdjustBallast(const std::string& data_dir, const DiskSpace::Room& room);

// Returns whether there was one.
bool ReleaseBallast(const std::string& data_dir);

}  // namespace coffer::rocks
