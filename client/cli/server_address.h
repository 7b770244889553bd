// SPDX-License-Identifier: Apache-2.0
//
// What --server may be. gRPC takes anything: it would read port 72956 as 7420 and look up the host "http".
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace coffer::client::cli {

// INVALID_ARGUMENT, naming the address and what would be right, unless it is HOST:PORT, with a port of 1 to 65535
// and an IPv6 address in brackets, or unix:PATH with a path of 1 to 107 bytes.
absl::Status CheckServerAddress(absl::string_view address);

}  // namespace coffer::client::cli
