// SPDX-License-Identifier: Apache-2.0
//
// Client's calls about names, buckets and the server; put and get are in client_put.cc and client_get.cc,
// the digest questions (stat, find missing, verify) in client_inspect.cc.
#include "client/client.h"

#include <algorithm>

#include "client/connection.h"

namespace coffer::client {
namespace {

// Names in one Delete call (proto: DeleteRequest.names).
constexpr size_t kNamesPerDelete = 1024;

absl::StatusOr<Reference> ReferenceOfAnswer(const v1::Reference& from) {
  const absl::StatusOr<Digest> digest = DigestOfAnswer(from.digest());
  if (!digest.ok()) return digest.status();
  return Reference{from.bucket(),
                   from.name(),
                   *digest,
                   from.size_bytes(),
                   MetadataOfAnswer(from.metadata()),
                   TimeOfAnswer(from.created())};
}

}  // namespace

Client::Client(const std::string& server, const ClientOptions& options)
    : connection_(std::make_unique<Connection>(server, options)) {}

Client::~Client() = default;

void Client::Cancel() { connection_->watch().CancelAll(); }

absl::StatusOr<Reference> Client::Bind(const std::string& bucket, const std::string& name, const Digest& digest,
                                       const Metadata& metadata) {
  v1::BindRequest request;
  absl::Status status = CheckUtf8("bucket", bucket);
  if (!status.ok()) return status;
  if (status = CheckUtf8("name", name); !status.ok()) return status;
  if (status = FillMetadata(metadata, request.mutable_metadata()); !status.ok()) return status;
  request.set_bucket(bucket);
  request.set_name(name);
  request.set_digest(std::string(digest.view()));
  v1::Reference response;
  status = connection_->Unary(
      [&](grpc::ClientContext* context) { return connection_->references().Bind(context, request, &response); });
  if (!status.ok()) return status;
  return ReferenceOfAnswer(response);
}

absl::StatusOr<Reference> Client::Resolve(const std::string& bucket, const std::string& name) {
  v1::ResolveRequest request;
  absl::Status status = CheckUtf8("bucket", bucket);
  if (!status.ok()) return status;
  if (status = CheckUtf8("name", name); !status.ok()) return status;
  request.set_bucket(bucket);
  request.set_name(name);
  v1::Reference response;
  status = connection_->Unary(
      [&](grpc::ClientContext* context) { return connection_->references().Resolve(context, request, &response); });
  if (!status.ok()) return status;
  return ReferenceOfAnswer(response);
}

absl::StatusOr<ReferencePage> Client::List(const ListOptions& options) {
  v1::ListRequest request;
  absl::Status status = CheckUtf8("bucket", options.bucket);
  if (!status.ok()) return status;
  if (status = CheckUtf8("prefix", options.prefix); !status.ok()) return status;
  request.set_bucket(options.bucket);
  request.set_prefix(options.prefix);
  request.set_page_size(options.page_size);
  request.set_cursor(options.cursor);
  v1::ListResponse response;
  status = connection_->Unary(
      [&](grpc::ClientContext* context) { return connection_->references().List(context, request, &response); });
  if (!status.ok()) return status;
  ReferencePage page;
  page.next_cursor = response.next_cursor();
  page.references.reserve(response.references_size());
  for (const v1::Reference& from : response.references()) {
    absl::StatusOr<Reference> reference = ReferenceOfAnswer(from);
    if (!reference.ok()) return reference.status();
    page.references.push_back(*std::move(reference));
  }
  return page;
}

absl::Status Client::ForEachReference(ListOptions options, absl::FunctionRef<absl::Status(const Reference&)> visit) {
  do {
    absl::StatusOr<ReferencePage> page = List(options);
    if (!page.ok()) return page.status();
    for (const Reference& reference : page->references) {
      if (absl::Status status = visit(reference); !status.ok()) return status;
    }
    if (!page->next_cursor.empty() && page->next_cursor == options.cursor) {
      return absl::InternalError("the server's list does not advance");
    }
    options.cursor = std::move(page->next_cursor);
  } while (!options.cursor.empty());
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Client::Delete(const std::string& bucket, absl::Span<const std::string> names) {
  if (absl::Status status = CheckUtf8("bucket", bucket); !status.ok()) return status;
  uint64_t deleted = 0;
  for (size_t begin = 0; begin < names.size(); begin += kNamesPerDelete) {
    v1::DeleteRequest request;
    request.set_bucket(bucket);
    for (const std::string& name : names.subspan(begin, kNamesPerDelete)) {
      if (absl::Status status = CheckUtf8("name", name); !status.ok()) return status;
      request.add_names(name);
    }
    v1::DeleteResponse response;
    const absl::Status status = connection_->Unary(
        [&](grpc::ClientContext* context) { return connection_->references().Delete(context, request, &response); });
    if (!status.ok()) return status;
    deleted += response.deleted();
  }
  return deleted;
}

absl::StatusOr<bool> Client::CreateBucket(const std::string& bucket) {
  if (absl::Status status = CheckUtf8("bucket", bucket); !status.ok()) return status;
  v1::CreateBucketRequest request;
  request.set_bucket(bucket);
  v1::CreateBucketResponse response;
  const absl::Status status = connection_->Unary([&](grpc::ClientContext* context) {
    return connection_->references().CreateBucket(context, request, &response);
  });
  if (!status.ok()) return status;
  return response.created();
}

absl::StatusOr<bool> Client::DeleteBucket(const std::string& bucket) {
  if (absl::Status status = CheckUtf8("bucket", bucket); !status.ok()) return status;
  v1::DeleteBucketRequest request;
  request.set_bucket(bucket);
  v1::DeleteBucketResponse response;
  const absl::Status status = connection_->Unary([&](grpc::ClientContext* context) {
    return connection_->references().DeleteBucket(context, request, &response);
  });
  if (!status.ok()) return status;
  return response.deleted();
}

absl::StatusOr<BucketPage> Client::ListBuckets(uint32_t page_size, const std::string& cursor) {
  v1::ListBucketsRequest request;
  request.set_page_size(page_size);
  request.set_cursor(cursor);
  v1::ListBucketsResponse response;
  const absl::Status status = connection_->Unary(
      [&](grpc::ClientContext* context) { return connection_->references().ListBuckets(context, request, &response); });
  if (!status.ok()) return status;
  BucketPage page;
  page.next_cursor = response.next_cursor();
  for (const v1::Bucket& bucket : response.buckets()) {
    page.buckets.push_back({bucket.bucket(), TimeOfAnswer(bucket.created())});
  }
  return page;
}

absl::StatusOr<BackupResult> Client::Backup(const std::string& name) {
  if (absl::Status status = CheckUtf8("backup", name); !status.ok()) return status;
  v1::BackupRequest request;
  request.set_name(name);
  v1::BackupResponse response;
  Connection::Call call(*connection_);
  const absl::Status status =
      connection_->ToStatus(connection_->admin().Backup(&call.context, request, &response), call);
  if (!status.ok()) return status;
  return BackupResult{response.blobs(), response.written_bytes(), response.shared_bytes()};
}

absl::StatusOr<ServerStatus> Client::Status() {
  v1::StatusResponse response;
  const absl::Status status = connection_->Unary([&](grpc::ClientContext* context) {
    return connection_->admin().Status(context, v1::StatusRequest(), &response);
  });
  if (!status.ok()) return status;
  ServerStatus result;
  result.version = response.version();
  result.store_id = response.store_id();
  result.engine = response.engine();
  result.hash_kernel = response.hash_kernel();
  result.started = TimeOfAnswer(response.started());
  result.blobs = response.blobs();
  result.content_bytes = response.content_bytes();
  result.references = response.references();
  result.referenced_bytes = response.referenced_bytes();
  result.buckets = response.buckets();
  result.staging_bytes = response.staging_bytes();
  result.disk_total_bytes = response.disk_total_bytes();
  result.disk_free_bytes = response.disk_free_bytes();
  result.disk_low_water_bytes = response.disk_low_water_bytes();
  result.puts_new = response.puts_new();
  result.puts_deduplicated = response.puts_deduplicated();
  result.deduplicated_bytes = response.deduplicated_bytes();
  return result;
}

}  // namespace coffer::client
