// SPDX-License-Identifier: Apache-2.0
//
// How sorted files under staging/ are written: past the page cache, which a large put would only churn, and behind the
// caller, so that it hashes while the disk writes.
#pragma once

#include <rocksdb/env.h>

#include <memory>

#include "storage/rocks/buffer_stock.h"

namespace coffer::rocks {

// An Env for SstFileWriter. Borrows both. What it writes is on the disk after Sync, as with any other; a file holds up
// to four buffers of `stock`. On a file system without direct I/O it writes through the page cache. Thread-safe; a file
// is used by one thread at a time.
std::unique_ptr<rocksdb::Env> NewStagingEnv(rocksdb::Env* base, BufferStock& stock);

}  // namespace coffer::rocks
