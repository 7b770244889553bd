// SPDX-License-Identifier: Apache-2.0
//
// An environment that reads files from the disk, past the page cache, and reads ahead while its user works.
#pragma once

#include <rocksdb/env.h>

#include <memory>

namespace coffer::rocks {

// Files are read with O_DIRECT; where the file system refuses that, what the page cache has of them is dropped first.
// An open file is for one thread at a time and holds 4 MiB. `base` is borrowed.
std::unique_ptr<rocksdb::Env> NewDiskEnv(rocksdb::Env* base);

}  // namespace coffer::rocks
