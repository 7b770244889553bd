// SPDX-License-Identifier: Apache-2.0
//
// What every RPC needs from the server that runs it.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/admission.h"
#include "server/store_pool.h"
#include "storage/blob_store.h"

namespace coffer {

// Called with the name of an RPC and an error that is the server's fault, not the client's. From any thread.
using FailureReport = std::function<void(absl::string_view rpc, const absl::Status& status)>;

// Borrows everything; outlived by what it refers to, outlives every call.
struct Backend {
  BlobStore& store;
  StorePool& pool;
  Admission& admission;
  const FailureReport report_failure;
  const absl::Time started;
};

}  // namespace coffer
