// SPDX-License-Identifier: Apache-2.0
#include "server/reference_service.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/proto_conversion.h"
#include "server/unary_call.h"

namespace coffer {
namespace {

absl::StatusOr<v1::Reference> BindName(BlobStore& store, const v1::BindRequest& request) {
  absl::StatusOr<Digest> digest = DigestFromWire(request.digest(), "digest");
  if (!digest.ok()) return digest.status();
  absl::StatusOr<Reference> reference =
      store.Bind(request.bucket(), request.name(), *digest, MetadataFromWire(request.metadata()));
  if (!reference.ok()) return reference.status();
  return ReferenceToWire(*reference);
}

absl::StatusOr<v1::Reference> ResolveName(BlobStore& store, const v1::ResolveRequest& request) {
  absl::StatusOr<Reference> reference = store.Resolve(request.bucket(), request.name());
  if (!reference.ok()) return reference.status();
  return ReferenceToWire(*reference);
}

absl::StatusOr<uint32_t> PageLimit(uint32_t page_size) {
  if (page_size > BlobStore::kMaxPage) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_size is ", page_size, ": at most ", BlobStore::kMaxPage, " are allowed"));
  }
  return page_size == 0 ? BlobStore::kDefaultPage : page_size;
}

// What `message` adds to a page as an element of a repeated field: tag and length take at most 6 bytes.
size_t BytesInPage(const google::protobuf::Message& message) { return message.ByteSizeLong() + 6; }

// Asks the store for a part of the page at a time, because 10,000 references of the largest kind are 90 MiB.
absl::StatusOr<v1::ListResponse> ListNames(BlobStore& store, const v1::ListRequest& request) {
  constexpr uint32_t kPart = 256;
  const absl::StatusOr<uint32_t> limit = PageLimit(request.page_size());
  if (!limit.ok()) return limit.status();
  v1::ListResponse response;
  std::string cursor = request.cursor();
  size_t page_bytes = 0;
  for (uint32_t left = *limit; left > 0;) {
    absl::StatusOr<ReferencePage> part = store.List(request.bucket(), request.prefix(), cursor, std::min(left, kPart));
    if (!part.ok()) return part.status();
    for (const Reference& reference : part->references) {
      v1::Reference message = ReferenceToWire(reference);
      page_bytes += BytesInPage(message);
      if (page_bytes > kMaxPageBytes) {
        response.set_next_cursor(cursor);
        return response;
      }
      *response.add_references() = std::move(message);
      cursor = reference.name;
    }
    left -= static_cast<uint32_t>(part->references.size());
    if (part->next_cursor.empty()) return response;
    cursor = part->next_cursor;
  }
  response.set_next_cursor(cursor);
  return response;
}

absl::StatusOr<v1::DeleteResponse> DeleteNames(BlobStore& store, const v1::DeleteRequest& request) {
  if (static_cast<size_t>(request.names_size()) > BlobStore::kMaxDelete) {
    return absl::InvalidArgumentError(
        absl::StrCat("a delete of ", request.names_size(), " names: at most ", BlobStore::kMaxDelete, " are allowed"));
  }
  const std::vector<std::string> names(request.names().begin(), request.names().end());
  const absl::StatusOr<uint64_t> deleted = store.Delete(request.bucket(), names);
  if (!deleted.ok()) return deleted.status();
  v1::DeleteResponse response;
  response.set_deleted(*deleted);
  return response;
}

absl::StatusOr<v1::CreateBucketResponse> MakeBucket(BlobStore& store, const v1::CreateBucketRequest& request) {
  const absl::StatusOr<bool> created = store.CreateBucket(request.bucket());
  if (!created.ok()) return created.status();
  v1::CreateBucketResponse response;
  response.set_created(*created);
  return response;
}

absl::StatusOr<v1::DeleteBucketResponse> RemoveBucket(BlobStore& store, const v1::DeleteBucketRequest& request) {
  const absl::StatusOr<bool> deleted = store.DeleteBucket(request.bucket());
  if (!deleted.ok()) return deleted.status();
  v1::DeleteBucketResponse response;
  response.set_deleted(*deleted);
  return response;
}

// The largest page, 10,000 buckets of 255 bytes, is 2.8 MiB: no need to cut it.
absl::StatusOr<v1::ListBucketsResponse> ListAllBuckets(BlobStore& store, const v1::ListBucketsRequest& request) {
  const absl::StatusOr<uint32_t> limit = PageLimit(request.page_size());
  if (!limit.ok()) return limit.status();
  absl::StatusOr<BucketPage> page = store.ListBuckets(request.cursor(), *limit);
  if (!page.ok()) return page.status();
  v1::ListBucketsResponse response;
  for (const Bucket& bucket : page->buckets) *response.add_buckets() = BucketToWire(bucket);
  response.set_next_cursor(page->next_cursor);
  return response;
}

absl::StatusOr<v1::LeaseResponse> TakeLease(BlobStore& store, const v1::LeaseRequest& request) {
  absl::StatusOr<std::vector<Digest>> digests = DigestsFromWire(request.digests());
  if (!digests.ok()) return digests.status();
  absl::StatusOr<std::vector<Digest>> missing =
      store.Lease(request.bucket(), *digests, absl::Seconds(request.duration_seconds()));
  if (!missing.ok()) return missing.status();
  v1::LeaseResponse response;
  for (const Digest& digest : *missing) response.add_missing_digests(DigestToWire(digest));
  return response;
}

}  // namespace

grpc::ServerUnaryReactor* ReferenceService::Bind(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  return RunUnary<v1::BindRequest>(
      backend_, "Bind", context, request, response,
      [&store = backend_.store](const v1::BindRequest& message) { return BindName(store, message); });
}

grpc::ServerUnaryReactor* ReferenceService::Resolve(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return RunUnary<v1::ResolveRequest>(
      backend_, "Resolve", context, request, response,
      [&store = backend_.store](const v1::ResolveRequest& message) { return ResolveName(store, message); });
}

grpc::ServerUnaryReactor* ReferenceService::List(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  return RunUnary<v1::ListRequest>(
      backend_, "List", context, request, response,
      [&store = backend_.store](const v1::ListRequest& message) { return ListNames(store, message); });
}

grpc::ServerUnaryReactor* ReferenceService::Delete(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return RunUnary<v1::DeleteRequest>(
      backend_, "Delete", context, request, response,
      [&store = backend_.store](const v1::DeleteRequest& message) { return DeleteNames(store, message); });
}

grpc::ServerUnaryReactor* ReferenceService::CreateBucket(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return RunUnary<v1::CreateBucketRequest>(
      backend_, "CreateBucket", context, request, response,
      [&store = backend_.store](const v1::CreateBucketRequest& message) { return MakeBucket(store, message); });
}

grpc::ServerUnaryReactor* ReferenceService::ListBuckets(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return RunUnary<v1::ListBucketsRequest>(
      backend_, "ListBuckets", context, request, response,
      [&store = backend_.store](const v1::ListBucketsRequest& message) { return ListAllBuckets(store, message); });
}

grpc::ServerUnaryReactor* ReferenceService::DeleteBucket(grpc::CallbackServerContext* context,
                                                         const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return RunUnary<v1::DeleteBucketRequest>(
      backend_, "DeleteBucket", context, request, response,
      [&store = backend_.store](const v1::DeleteBucketRequest& message) { return RemoveBucket(store, message); });
}

grpc::ServerUnaryReactor* ReferenceService::Lease(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return RunUnary<v1::LeaseRequest>(
      backend_, "Lease", context, request, response,
      [&store = backend_.store](const v1::LeaseRequest& message) { return TakeLease(store, message); });
}

}  // namespace coffer
