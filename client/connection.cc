// SPDX-License-Identifier: Apache-2.0
#include "client/connection.h"

#include <utf8.h>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace coffer::client {
namespace {

grpc::ChannelArguments ChannelOptions(const RetryPolicy& retry) {
  grpc::ChannelArguments arguments;
  // Connect again as fast as calls are retried; gRPC's own pause of a second and more would outlast them.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(retry.first_backoff)));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, static_cast<int>(absl::ToInt64Milliseconds(retry.max_backoff)));
  // A failed connection is tried again only after the address was resolved again, by default every 30 seconds.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(retry.first_backoff)));
  // A web proxy from the environment is not meant for a store, least of all for one on this machine.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // What a slow reader makes pile up here: a fixed window. gRPC's measured one was seen to take 200 MB.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, static_cast<int>(4 * kMessageBytes));
  // Clients of one process do not share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return arguments;
}

}  // namespace

Connection::Connection(const std::string& server, const ClientOptions& options)
    : server_(server),
      options_(options),
      watch_(options.idle_timeout),
      channel_(grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), ChannelOptions(options.retry))),
      blobs_(v1::BlobService::NewStub(channel_)),
      references_(v1::ReferenceService::NewStub(channel_)),
      admin_(v1::AdminService::NewStub(channel_)) {}

absl::Status Connection::ToStatus(const grpc::Status& status, const Call& call) const {
  if (status.ok()) return absl::OkStatus();
  if (call.guard.expired() && status.error_code() == grpc::StatusCode::CANCELLED) {
    return absl::DeadlineExceededError(
        absl::StrCat("server ", server_, " did nothing for ", absl::FormatDuration(options_.idle_timeout)));
  }
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::DeadlineExceededError(
        absl::StrCat("server ", server_, " did not answer within ", absl::FormatDuration(options_.deadline)));
  }
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    const std::string message = status.error_message();
    const bool no_connection = absl::StartsWith(message, "failed to connect");
    return absl::UnavailableError(
        absl::StrCat(no_connection ? "no server answers at " : "server ", server_, ": ", message));
  }
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

absl::Status Connection::Unary(absl::FunctionRef<grpc::Status(grpc::ClientContext*)> call) {
  const absl::Time deadline = absl::Now() + options_.deadline;
  return CallWithRetries(
      options_.retry,
      {
          .attempt =
              [&] {
                Call attempt(*this);
                attempt.context.set_deadline(absl::ToChronoTime(deadline));
                return ToStatus(call(&attempt.context), attempt);
              },
          .may_repeat = [] { return true; },
          .pause = [&](absl::Duration pause) { return absl::Now() + pause < deadline && watch_.Sleep(pause); },
      });
}

absl::Status Connection::Streaming(absl::FunctionRef<absl::Status()> attempt, absl::FunctionRef<bool()> may_repeat) {
  return CallWithRetries(options_.retry, {
                                             .attempt = attempt,
                                             .may_repeat = may_repeat,
                                             .pause = [&](absl::Duration pause) { return watch_.Sleep(pause); },
                                         });
}

absl::Status CheckUtf8(absl::string_view what, absl::string_view text) {
  const auto bad = utf8::find_invalid(text.begin(), text.end());
  if (bad == text.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " \"", absl::CHexEscape(text), "\" is not UTF-8 at byte ", bad - text.begin()));
}

absl::StatusOr<Digest> DigestOfAnswer(const std::string& bytes) {
  absl::StatusOr<Digest> digest = Digest::FromBytes(bytes);
  if (!digest.ok()) {
    return absl::DataLossError(absl::StrCat("the server's answer has a bad digest: ", digest.status().message()));
  }
  return digest;
}

absl::Status FillSelector(const Selector& from, v1::BlobSelector* to) {
  if (absl::Status status = CheckUtf8("bucket", from.bucket); !status.ok()) return status;
  to->set_bucket(from.bucket);
  if (const auto* digest = std::get_if<Digest>(&from.by)) {
    to->set_digest(std::string(digest->view()));
    return absl::OkStatus();
  }
  const std::string& name = std::get<std::string>(from.by);
  if (absl::Status status = CheckUtf8("name", name); !status.ok()) return status;
  to->set_name(name);
  return absl::OkStatus();
}

absl::Status FillMetadata(const Metadata& from, google::protobuf::Map<std::string, std::string>* to) {
  for (const auto& [label, value] : from) {
    if (absl::Status status = CheckUtf8("metadata key", label); !status.ok()) return status;
    if (absl::Status status = CheckUtf8("metadata value", value); !status.ok()) return status;
    (*to)[label] = value;
  }
  return absl::OkStatus();
}

Metadata MetadataOfAnswer(const google::protobuf::Map<std::string, std::string>& from) {
  return Metadata(from.begin(), from.end());
}

absl::Time TimeOfAnswer(const google::protobuf::Timestamp& from) {
  return absl::FromUnixSeconds(from.seconds()) + absl::Nanoseconds(from.nanos());
}

std::string Describe(const Selector& blob) {
  if (const auto* digest = std::get_if<Digest>(&blob.by)) return digest->ToHex();
  return std::get<std::string>(blob.by);
}

}  // namespace coffer::client
