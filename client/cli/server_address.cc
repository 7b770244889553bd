// SPDX-License-Identifier: Apache-2.0
#include "client/cli/server_address.h"

#include <sys/un.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace coffer::client::cli {
namespace {

bool IsPort(absl::string_view text) {
  uint32_t port = 0;
  if (text.empty() || text.find_first_not_of("0123456789") != absl::string_view::npos) return false;
  return absl::SimpleAtoi(text, &port) && port >= 1 && port <= 65535;
}

bool IsHost(absl::string_view host) {
  const bool is_v6 = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  if (host.empty()) return false;
  for (const char c : host) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '-' && c != '_' && !(is_v6 && (c == ':' || c == '%'))) return false;
  }
  return true;
}

}  // namespace

absl::Status CheckServerAddress(absl::string_view address) {
  constexpr size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;
  absl::string_view path = address;
  if (absl::ConsumePrefix(&path, "unix:")) {
    if (!path.empty() && path.size() <= kMaxPathBytes) return absl::OkStatus();
  } else if (const size_t colon = address.rfind(':'); colon != absl::string_view::npos) {
    if (IsHost(address.substr(0, colon)) && IsPort(address.substr(colon + 1))) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the server address \"", absl::Utf8SafeCEscape(address),
      "\" (--server or COFFER_SERVER) must be HOST:PORT, with a port of 1 to 65535 and an IPv6 address in brackets, or "
      "unix:PATH, with a path of 1 to ",
      kMaxPathBytes, " bytes; such as 127.0.0.1:7420"));
}

}  // namespace coffer::client::cli
