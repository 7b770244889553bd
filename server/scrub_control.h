// SPDX-License-Identifier: Apache-2.0
//
// What AdminService.Scrub does to the scrubber, and how it stands after that.
#pragma once

#include "absl/status/statusor.h"
#include "coffer/v1/admin_service.pb.h"
#include "storage/blob_store.h"

namespace coffer {

// INVALID_ARGUMENT for an action that does not exist, and what the scrubber returns.
absl::StatusOr<v1::ScrubResponse> ControlScrubber(BlobStore& store, const v1::ScrubRequest& request);

}  // namespace coffer
