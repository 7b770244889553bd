// SPDX-License-Identifier: Apache-2.0
//
// A checksum of every table file as a whole, kept by the database: RocksDB's own one (CRC-32C, four bytes big-endian),
// computed by the CPU's instruction.
#pragma once

#include <rocksdb/file_checksum.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace coffer::rocks {

std::shared_ptr<rocksdb::FileChecksumGenFactory> NewFileChecksumFactory();

// The checksum that the database keeps of a file; nothing if it keeps none, or another kind.
std::optional<uint32_t> StoredFileChecksum(const std::string& checksum, const std::string& function_name);

}  // namespace coffer::rocks
