// SPDX-License-Identifier: Apache-2.0
//
// Damage that no checksum of the database sees: a stored value is changed through RocksDB itself. The store
// must be closed meanwhile.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "hashing/digest.h"
#include "storage/layout.h"

namespace coffer {

// Flips bit 0 of byte `offset` of the stored record of `digest`; the inline content of a small blob stands at its end.
// A negative offset counts from the end.
absl::Status DamageRecord(const std::string& data_dir, const Digest& digest, int64_t offset);

// Flips bit 0 of byte `offset` of a piece of a large blob.
absl::Status DamagePiece(const std::string& data_dir, const Digest& digest, const PieceId& piece, int64_t offset);

}  // namespace coffer
