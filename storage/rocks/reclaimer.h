// SPDX-License-Identifier: Apache-2.0
//
// How condemned content goes (FORMAT.md 7):
//
//   1. EraseCondemned deletes, in one batch, the records of condemned digests that still have no reference and no live
//      lease, and notes the content ids whose pieces are to be removed;
//   2. from then on nobody can find that content any more, and once no reader holds a pin nobody reads it;
//   3. RemovePieces removes the pieces of what is not pinned, and then the notes;
//   4. CompactGathered rewrites the gathered content once a fifth of it is garbage, which gives the space back.
//
// A crash after 1 leaves the notes, and the next start does 3.
#pragma once

#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "storage/engine.h"
#include "storage/rocks/committer.h"
#include "storage/rocks/database.h"
#include "storage/rocks/disk_space.h"
#include "storage/rocks/encoding.h"
#include "storage/rocks/pins.h"
#include "storage/rocks/reference_rows.h"

namespace coffer::rocks {

// Thread-safe. Everything that it changes is bulk work.
class Reclaimer {
 public:
  // Borrows all three.
  Reclaimer(Database& database, Committer& committer, const Pins& pins)
      : database_(database), committer_(committer), pins_(pins) {}

  // Reads the notes that an earlier process left. DATA_LOSS if one is damaged, UNAVAILABLE.
  absl::Status ReadNotes();

  // Step 1 for those of `digests` that were condemned at or before `condemned_until_ms` of uptime, slice by slice.
  // `dry_run`: returns the same and changes nothing. DATA_LOSS, UNAVAILABLE.
  absl::StatusOr<Erasure> EraseCondemned(absl::Span<const Digest> digests, uint64_t condemned_until_ms, bool dry_run);

  // Step 1 was done in a batch of somebody else's, which is written.
  void Add(ErasedContents erased);

  // Step 3. RESOURCE_EXHAUSTED, DATA_LOSS, UNAVAILABLE: what was not removed is tried again by the next call.
  absl::Status RemovePieces();

  // Rewrites the gathered content if enough of it is garbage: only then does the space of removed rows come back.
  // Blocks while it writes. By one thread at a time. RESOURCE_EXHAUSTED, DATA_LOSS, UNAVAILABLE.
  absl::Status CompactGathered(const DiskSpace& disk_space);

 private:
  absl::Status EraseOne(Batch& batch, const Digest& digest, uint64_t condemned_until_ms, ErasedContents& erased,
                        Erasure& erasure);
  absl::Status RemoveSlice(const ErasedContents& slice);

  Database& database_;
  Committer& committer_;
  const Pins& pins_;
  std::mutex mutex_;
  // Erased, and their pieces not removed. Guarded by mutex_.
  ErasedContents pending_;
  // Removed, and not yet compacted away. A restart forgets it: less than the fifth that is waited for.
  uint64_t garbage_bytes_ = 0;
};

}  // namespace coffer::rocks
