// SPDX-License-Identifier: Apache-2.0
#include "server/blob_service.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/get_reactor.h"
#include "server/proto_conversion.h"
#include "server/put_reactor.h"
#include "server/unary_call.h"
#include "server/verify_reactor.h"

namespace coffer {
namespace {

absl::StatusOr<v1::StatResponse> StatBlob(BlobStore& store, const v1::StatRequest& request) {
  absl::StatusOr<BlobSelector> selector = SelectorFromWire(request.blob());
  if (!selector.ok()) return selector.status();
  absl::StatusOr<BlobInfo> info = store.Stat(*selector);
  if (!info.ok()) return info.status();
  return BlobInfoToWire(*info);
}

absl::StatusOr<v1::FindMissingResponse> FindMissingDigests(BlobStore& store, const v1::FindMissingRequest& request) {
  absl::StatusOr<std::vector<Digest>> digests = DigestsFromWire(request.digests());
  if (!digests.ok()) return digests.status();
  absl::StatusOr<std::vector<Digest>> missing =
      request.lease_seconds() == 0 ? store.FindMissing(request.bucket(), *digests)
                                   : store.Lease(request.bucket(), *digests, absl::Seconds(request.lease_seconds()));
  if (!missing.ok()) return missing.status();
  v1::FindMissingResponse response;
  for (const Digest& digest : *missing) response.add_missing_digests(DigestToWire(digest));
  return response;
}

// Before anything is made for each item.
absl::Status CheckBatchCount(int count) {
  if (static_cast<size_t>(count) <= kMaxBatch) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the batch has ", count, " items: at most ", kMaxBatch, " are allowed"));
}

// Writes the failure of one item of a batch. The call as a whole succeeds, so it is here that the operator hears of it.
template <typename Result>
void FailItem(const Backend& backend, absl::string_view rpc, const absl::Status& status, Result& out) {
  if (IsServerFailure(status)) backend.report_failure(rpc, status);
  StatusToWire(status, out);
}

absl::StatusOr<v1::BatchPutResponse> PutBatch(const Backend& backend, const v1::BatchPutRequest& request) {
  if (absl::Status status = CheckBatchCount(request.items_size()); !status.ok()) return status;
  std::vector<absl::StatusOr<PutResult>> results(request.items_size(), absl::UnknownError(""));
  std::vector<BatchItem> items;
  std::vector<int> item_indexes;
  for (int i = 0; i < request.items_size(); ++i) {
    absl::StatusOr<UploadOptions> options = UploadOptionsFromWire(request.items(i).header());
    if (options.ok()) {
      items.push_back({*std::move(options), request.items(i).data()});
      item_indexes.push_back(i);
    } else {
      results[i] = options.status();
    }
  }
  std::vector<absl::StatusOr<PutResult>> put = backend.store.PutBatch(items);
  for (size_t i = 0; i < put.size(); ++i) results[item_indexes[i]] = std::move(put[i]);
  v1::BatchPutResponse response;
  for (const absl::StatusOr<PutResult>& result : results) {
    v1::BatchPutResult& out = *response.add_results();
    if (result.ok()) {
      *out.mutable_put() = PutResultToWire(*result);
    } else {
      FailItem(backend, "BatchPut", result.status(), out);
    }
  }
  return response;
}

absl::StatusOr<v1::BatchGetResponse> GetBatch(const Backend& backend, const v1::BatchGetRequest& request) {
  if (absl::Status status = CheckBatchCount(request.blobs_size()); !status.ok()) return status;
  std::vector<absl::StatusOr<BatchBlob>> results(request.blobs_size(), absl::UnknownError(""));
  std::vector<BlobSelector> selectors;
  std::vector<int> selector_indexes;
  for (int i = 0; i < request.blobs_size(); ++i) {
    absl::StatusOr<BlobSelector> selector = SelectorFromWire(request.blobs(i));
    if (selector.ok()) {
      selectors.push_back(*std::move(selector));
      selector_indexes.push_back(i);
    } else {
      results[i] = selector.status();
    }
  }
  std::vector<absl::StatusOr<BatchBlob>> got = backend.store.GetBatch(selectors);
  for (size_t i = 0; i < got.size(); ++i) results[selector_indexes[i]] = std::move(got[i]);
  v1::BatchGetResponse response;
  for (absl::StatusOr<BatchBlob>& result : results) {
    v1::BatchGetResult& out = *response.add_results();
    if (result.ok()) {
      out.set_digest(DigestToWire(result->digest));
      out.set_data(std::move(result->content));
    } else {
      FailItem(backend, "BatchGet", result.status(), out);
    }
  }
  return response;
}

}  // namespace

grpc::ServerReadReactor<grpc::ByteBuffer>* BlobService::Put(grpc::CallbackServerContext*, grpc::ByteBuffer* response) {
  return new PutReactor(backend_, response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* BlobService::Get(grpc::CallbackServerContext*,
                                                             const grpc::ByteBuffer* request) {
  return new GetReactor(backend_, *request);
}

grpc::ServerUnaryReactor* BlobService::BatchPut(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  return RunUnary<v1::BatchPutRequest>(
      backend_, "BatchPut", context, request, response,
      [&backend = backend_](const v1::BatchPutRequest& message) { return PutBatch(backend, message); });
}

grpc::ServerUnaryReactor* BlobService::BatchGet(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  return RunUnary<v1::BatchGetRequest>(
      backend_, "BatchGet", context, request, response,
      [&backend = backend_](const v1::BatchGetRequest& message) { return GetBatch(backend, message); });
}

grpc::ServerUnaryReactor* BlobService::Stat(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* response) {
  return RunUnary<v1::StatRequest>(
      backend_, "Stat", context, request, response,
      [&store = backend_.store](const v1::StatRequest& message) { return StatBlob(store, message); });
}

grpc::ServerUnaryReactor* BlobService::FindMissing(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return RunUnary<v1::FindMissingRequest>(
      backend_, "FindMissing", context, request, response,
      [&store = backend_.store](const v1::FindMissingRequest& message) { return FindMissingDigests(store, message); });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* BlobService::Verify(grpc::CallbackServerContext*,
                                                                const grpc::ByteBuffer* request) {
  return new VerifyReactor(backend_, *request);
}

}  // namespace coffer
