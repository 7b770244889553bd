// SPDX-License-Identifier: Apache-2.0
//
// Client::Stat, FindMissing and Verify: what is stored, and is it what it was.
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "client/connection.h"

namespace coffer::client {
namespace {

// Digests in one FindMissing call (proto: FindMissingRequest.digests).
constexpr size_t kDigestsPerFindMissing = 32768;

absl::StatusOr<v1::VerifyRequest> RequestOf(const VerifyOptions& options) {
  v1::VerifyRequest request;
  if (const auto* blob = std::get_if<Selector>(&options.scope)) {
    if (absl::Status status = FillSelector(*blob, request.mutable_blob()); !status.ok()) return status;
  } else if (const auto* whole = std::get_if<WholeBucket>(&options.scope)) {
    if (absl::Status status = CheckUtf8("bucket", whole->bucket); !status.ok()) return status;
    request.set_bucket(whole->bucket);
  } else {
    request.set_all(true);
  }
  request.set_offset_bytes(options.offset_bytes);
  request.set_length_bytes(options.length_bytes);
  return request;
}

// One try of a verify.
class VerifyAttempt {
 public:
  VerifyAttempt(Connection& connection, const v1::VerifyRequest& request, const VerifyCallbacks& callbacks)
      : connection_(connection), request_(request), callbacks_(callbacks), call_(connection) {}

  absl::Status Run(VerifyProgress* result) {
    auto stream = connection_.blobs().Verify(&call_.context, request_);
    v1::VerifyResponse message;
    while (call_.guard.Wait([&] { return stream->Read(&message); })) {
      absl::Status status =
          message.has_finding() ? TakeFinding(message.finding()) : TakeProgress(message.progress(), result);
      if (status.ok()) continue;
      call_.context.TryCancel();
      (void)stream->Finish();
      return status;
    }
    absl::Status status = connection_.ToStatus(call_.guard.Wait([&] { return stream->Finish(); }), call_);
    if (!status.ok()) return status;
    if (!done_) return absl::InternalError("the server ended the verification before everything was checked");
    return absl::OkStatus();
  }

  bool handed_out() const { return handed_out_; }

 private:
  absl::Status TakeFinding(const v1::VerifyFinding& from) {
    std::optional<Digest> of_blob;
    if (!from.digest().empty()) {
      const absl::StatusOr<Digest> digest = DigestOfAnswer(from.digest());
      if (!digest.ok()) return digest.status();
      of_blob = *digest;
    }
    handed_out_ = true;
    if (callbacks_.finding) {
      callbacks_.finding({of_blob, from.offset_bytes(), from.length_bytes(), from.problem()});
    }
    return absl::OkStatus();
  }

  absl::Status TakeProgress(const v1::VerifyProgress& from, VerifyProgress* result) {
    *result = {from.blobs_checked(), from.bytes_checked(), from.findings()};
    done_ = from.done();
    if (callbacks_.progress) callbacks_.progress(*result);
    return absl::OkStatus();
  }

  Connection& connection_;
  const v1::VerifyRequest& request_;
  const VerifyCallbacks& callbacks_;
  Connection::Call call_;
  bool done_ = false;
  bool handed_out_ = false;
};

}  // namespace

absl::StatusOr<BlobStat> Client::Stat(const Selector& blob) {
  v1::StatRequest request;
  absl::Status status = FillSelector(blob, request.mutable_blob());
  if (!status.ok()) return status;
  v1::StatResponse response;
  status = connection_->Unary(
      [&](grpc::ClientContext* context) { return connection_->blobs().Stat(context, request, &response); });
  if (!status.ok()) return status;
  const absl::StatusOr<Digest> digest = DigestOfAnswer(response.digest());
  if (!digest.ok()) return digest.status();
  BlobStat result{*digest, response.size_bytes(), response.name(), MetadataOfAnswer(response.metadata()), {}};
  if (response.has_created()) result.created = TimeOfAnswer(response.created());
  return result;
}

absl::StatusOr<std::vector<Digest>> Client::FindMissing(const std::string& bucket, absl::Span<const Digest> digests) {
  if (absl::Status status = CheckUtf8("bucket", bucket); !status.ok()) return status;
  std::vector<Digest> missing;
  absl::flat_hash_set<Digest> seen;
  for (size_t begin = 0; begin < digests.size(); begin += kDigestsPerFindMissing) {
    v1::FindMissingRequest request;
    request.set_bucket(bucket);
    for (const Digest& digest : digests.subspan(begin, kDigestsPerFindMissing)) {
      request.add_digests(std::string(digest.view()));
    }
    v1::FindMissingResponse response;
    const absl::Status status = connection_->Unary(
        [&](grpc::ClientContext* context) { return connection_->blobs().FindMissing(context, request, &response); });
    if (!status.ok()) return status;
    for (const std::string& bytes : response.missing_digests()) {
      const absl::StatusOr<Digest> digest = DigestOfAnswer(bytes);
      if (!digest.ok()) return digest.status();
      if (seen.insert(*digest).second) missing.push_back(*digest);
    }
  }
  return missing;
}

absl::StatusOr<VerifyProgress> Client::Verify(const VerifyOptions& options, const VerifyCallbacks& callbacks) {
  const absl::StatusOr<v1::VerifyRequest> request = RequestOf(options);
  if (!request.ok()) return request.status();
  VerifyProgress result;
  bool handed_out = false;
  const absl::Status status = connection_->Streaming(
      [&] {
        VerifyAttempt attempt(*connection_, *request, callbacks);
        const absl::Status status = attempt.Run(&result);
        handed_out = attempt.handed_out();
        return status;
      },
      [&] { return !handed_out; });
  if (!status.ok()) return status;
  return result;
}

}  // namespace coffer::client
