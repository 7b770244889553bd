// SPDX-License-Identifier: Apache-2.0
#include "server/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/file_descriptor.h"
#include "storage/names.h"

namespace coffer {
namespace {

FileDescriptor NewSocket(int family) { return FileDescriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

absl::Status CannotListen(const std::string& where, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("cannot listen on ", where, ": ", why));
}

absl::Status CheckUnixUnused(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const std::string where = absl::StrCat("unix:", path);
  {
    const FileDescriptor client = NewSocket(AF_UNIX);
    if (::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
      return CannotListen(where, "another process listens there");
    }
    if (errno != ENOENT && errno != ECONNREFUSED) return CannotListen(where, std::strerror(errno));
    if (errno == ECONNREFUSED) return absl::OkStatus();  // left behind by a process that is gone
  }
  const FileDescriptor server = NewSocket(AF_UNIX);
  if (::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return CannotListen(where, std::strerror(errno));
  }
  ::unlink(path.c_str());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ListenAddress> ListenAddress::Parse(absl::string_view address) {
  ListenAddress result;
  absl::string_view rest = address;
  if (absl::ConsumePrefix(&rest, "unix:")) {
    constexpr size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;
    if (rest.empty() || rest.size() > kMaxPathBytes) {
      return absl::InvalidArgumentError(absl::StrCat("listen address ", Quoted(address),
                                                     ": the path of a unix socket has 1 to ", kMaxPathBytes, " bytes"));
    }
    result.path_ = std::string(rest);
    return result;
  }
  const size_t colon = rest.rfind(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos || colon == 0 || !absl::SimpleAtoi(rest.substr(colon + 1), &port) ||
      port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("listen address ", Quoted(address),
                                                   " must be HOST:PORT, with a port of 0 to 65535, or unix:PATH"));
  }
  absl::string_view host = rest.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  result.host_ = std::string(host);
  result.port_ = static_cast<uint16_t>(port);
  return result;
}

bool ListenAddress::IsLocal() const {
  if (is_unix() || host_ == "localhost") return true;
  in_addr v4{};
  if (::inet_pton(AF_INET, host_.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return ::inet_pton(AF_INET6, host_.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

absl::Status ListenAddress::CheckUnused() const {
  if (is_unix()) return CheckUnixUnused(path_);
  const std::string where = ToString();
  const std::string service = absl::StrCat(port_);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host_.c_str(), service.c_str(), &hints, &found); error != 0) {
    return CannotListen(where, ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  absl::Status last;
  for (const addrinfo* it = found; it != nullptr; it = it->ai_next) {
    const FileDescriptor probe = NewSocket(it->ai_family);
    const int on = 1;
    ::setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (::bind(probe.get(), it->ai_addr, it->ai_addrlen) == 0) return absl::OkStatus();
    last = CannotListen(where, std::strerror(errno));
  }
  return last;
}

std::string ListenAddress::WithPort(int port) const {
  if (is_unix()) return absl::StrCat("unix:", path_);
  if (absl::StrContains(host_, ':')) return absl::StrCat("[", host_, "]:", port);
  return absl::StrCat(host_, ":", port);
}

}  // namespace coffer
