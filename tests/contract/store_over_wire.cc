// SPDX-License-Identifier: Apache-2.0
//
// The same store behind a server on a loopback port, reached through the generated stubs alone.
#include "tests/contract/store_over_wire.h"

#include <google/protobuf/timestamp.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "coffer/v1/admin_service.grpc.pb.h"
#include "coffer/v1/blob_service.grpc.pb.h"
#include "coffer/v1/reference_service.grpc.pb.h"
#include "server/server.h"

namespace coffer {
namespace {

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

absl::Time FromProto(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

Digest FromProto(const std::string& digest) { return Digest::FromBytes(digest).value_or(Digest()); }

v1::BlobSelector ToProto(const BlobSelector& blob) {
  v1::BlobSelector selector;
  selector.set_bucket(blob.bucket);
  if (const auto* name = std::get_if<std::string>(&blob.by)) {
    selector.set_name(*name);
  } else {
    selector.set_digest(std::string(std::get<Digest>(blob.by).view()));
  }
  return selector;
}

template <typename Message>
Metadata MetadataOf(const Message& message) {
  return {message.metadata().begin(), message.metadata().end()};
}

Reference FromProto(const v1::Reference& proto) {
  return {proto.bucket(),     proto.name(),      FromProto(proto.digest()),
          proto.size_bytes(), MetadataOf(proto), FromProto(proto.created())};
}

PutResult FromProto(const v1::PutResponse& proto) {
  return {FromProto(proto.digest()), proto.size_bytes(), proto.deduplicated(), proto.name()};
}

v1::PutHeader HeaderOf(const UploadOptions& options) {
  v1::PutHeader header;
  header.set_bucket(options.bucket);
  header.set_name(options.name);
  if (options.expected_digest) header.set_expected_digest(std::string(options.expected_digest->view()));
  if (options.declared_size_bytes) header.set_size_bytes(*options.declared_size_bytes);
  header.mutable_metadata()->insert(options.metadata.begin(), options.metadata.end());
  return header;
}

class ReadOverWire : public OpenRead {
 public:
  ReadOverWire(v1::BlobService::Stub& stub, const BlobSelector& blob, ByteRange range) {
    v1::GetRequest request;
    *request.mutable_blob() = ToProto(blob);
    request.set_offset_bytes(range.offset_bytes);
    request.set_length_bytes(range.length_bytes);
    reader_ = stub.Get(&context_, request);
  }
  // The reader may not go before the call has ended.
  ~ReadOverWire() override {
    if (finished_) return;
    context_.TryCancel();
    reader_->Finish();
  }

  // Waits for the header, so that opening what is missing fails here.
  absl::Status Start() {
    if (reader_->Read(&message_) && message_.has_header()) return absl::OkStatus();
    return Finish();
  }

  absl::StatusOr<std::string> Next(size_t) override {
    if (finished_) return "";
    while (reader_->Read(&message_)) {
      if (!message_.data().empty()) return std::move(*message_.mutable_data());
    }
    if (absl::Status status = Finish(); !status.ok()) return status;
    return "";
  }

 private:
  absl::Status Finish() {
    finished_ = true;
    return FromGrpc(reader_->Finish());
  }

  grpc::ClientContext context_;
  v1::GetResponse message_;
  std::unique_ptr<grpc::ClientReader<v1::GetResponse>> reader_;
  bool finished_ = false;
};

class OverWire : public StoreUnderTest {
 public:
  explicit OverWire(std::unique_ptr<Engine> engine)
      : workers_(2),
        engine_(*engine),
        store_(std::move(engine), {.hash_workers = &workers_, .grace = absl::ZeroDuration(), .scrubs = true}) {
    ServerOptions options;
    absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(options, store_);
    if (!server.ok()) std::abort();
    server_ = *std::move(server);
    const auto channel =
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->port()), grpc::InsecureChannelCredentials());
    blobs_ = v1::BlobService::NewStub(channel);
    references_ = v1::ReferenceService::NewStub(channel);
    admin_ = v1::AdminService::NewStub(channel);
  }

  absl::StatusOr<PutResult> Put(const PutCall& call, const std::string& content) override {
    grpc::ClientContext context;
    v1::PutResponse response;
    const auto writer = blobs_->Put(&context, &response);
    v1::PutRequest request;
    *request.mutable_header() = HeaderOf(call.options);
    bool open = writer->Write(request);
    const size_t end = std::min(call.fail_after_bytes.value_or(content.size()), content.size());
    // A message holds at most 1 MiB.
    const size_t piece_bytes = std::min(call.piece_bytes, size_t{1} << 20);
    for (size_t begin = 0; open && begin < end; begin += piece_bytes) {
      request.set_data(content.substr(begin, std::min(piece_bytes, end - begin)));
      open = writer->Write(request);
    }
    if (call.fail_after_bytes.has_value()) {
      context.TryCancel();
    } else {
      if (!call.options.declared_size_bytes && !call.options.expected_digest) {
        request.mutable_end()->set_size_bytes(content.size());
        writer->Write(request);
      }
      writer->WritesDone();
    }
    if (const grpc::Status status = writer->Finish(); !status.ok()) return FromGrpc(status);
    return FromProto(response);
  }

  std::vector<absl::StatusOr<PutResult>> PutBatch(const std::vector<BatchItem>& items) override {
    v1::BatchPutRequest request;
    for (const BatchItem& item : items) {
      v1::BatchPutItem& out = *request.add_items();
      out.set_data(std::string(item.content));
      *out.mutable_header() = HeaderOf(item.options);
    }
    v1::BatchPutResponse response;
    grpc::ClientContext context;
    const grpc::Status status = blobs_->BatchPut(&context, request, &response);
    if (!status.ok()) return {items.size(), FromGrpc(status)};
    std::vector<absl::StatusOr<PutResult>> results;
    for (const v1::BatchPutResult& result : response.results()) {
      if (result.code() == 0) {
        results.push_back(FromProto(result.put()));
      } else {
        results.push_back(absl::Status(static_cast<absl::StatusCode>(result.code()), result.message()));
      }
    }
    return results;
  }

  std::vector<absl::StatusOr<BatchBlob>> GetBatch(const std::vector<BlobSelector>& blobs) override {
    v1::BatchGetRequest request;
    for (const BlobSelector& blob : blobs) *request.add_blobs() = ToProto(blob);
    v1::BatchGetResponse response;
    grpc::ClientContext context;
    const grpc::Status status = blobs_->BatchGet(&context, request, &response);
    if (!status.ok()) return {blobs.size(), FromGrpc(status)};
    std::vector<absl::StatusOr<BatchBlob>> results;
    for (const v1::BatchGetResult& result : response.results()) {
      if (result.code() == 0) {
        results.push_back(BatchBlob{FromProto(result.digest()), result.data()});
      } else {
        results.push_back(absl::Status(static_cast<absl::StatusCode>(result.code()), result.message()));
      }
    }
    return results;
  }

  absl::StatusOr<std::unique_ptr<OpenRead>> Open(const BlobSelector& blob, ByteRange range) override {
    auto read = std::make_unique<ReadOverWire>(*blobs_, blob, range);
    if (absl::Status status = read->Start(); !status.ok()) return status;
    return read;
  }

  absl::StatusOr<BlobInfo> Stat(const BlobSelector& blob) override {
    v1::StatRequest request;
    *request.mutable_blob() = ToProto(blob);
    v1::StatResponse response;
    grpc::ClientContext context;
    if (const grpc::Status status = blobs_->Stat(&context, request, &response); !status.ok()) return FromGrpc(status);
    BlobInfo info{FromProto(response.digest()), response.size_bytes(), std::nullopt};
    if (!response.name().empty()) {
      info.reference = Reference{blob.bucket,     response.name(),      info.digest,
                                 info.size_bytes, MetadataOf(response), FromProto(response.created())};
    }
    return info;
  }

  absl::StatusOr<std::vector<Digest>> FindMissing(const std::vector<Digest>& digests) override {
    v1::FindMissingRequest request;
    for (const Digest& digest : digests) request.add_digests(std::string(digest.view()));
    v1::FindMissingResponse response;
    grpc::ClientContext context;
    const grpc::Status status = blobs_->FindMissing(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    std::vector<Digest> missing;
    for (const std::string& digest : response.missing_digests()) missing.push_back(FromProto(digest));
    return missing;
  }

  absl::StatusOr<Reference> Bind(const std::string& bucket, const std::string& name, const Digest& digest,
                                 const Metadata& metadata) override {
    v1::BindRequest request;
    request.set_bucket(bucket);
    request.set_name(name);
    request.set_digest(std::string(digest.view()));
    request.mutable_metadata()->insert(metadata.begin(), metadata.end());
    return Ask(&v1::ReferenceService::Stub::Bind, request);
  }

  absl::StatusOr<Reference> Resolve(const std::string& bucket, const std::string& name) override {
    v1::ResolveRequest request;
    request.set_bucket(bucket);
    request.set_name(name);
    return Ask(&v1::ReferenceService::Stub::Resolve, request);
  }

  absl::StatusOr<ReferencePage> List(const std::string& bucket, const std::string& prefix, const std::string& cursor,
                                     uint32_t limit) override {
    v1::ListRequest request;
    request.set_bucket(bucket);
    request.set_prefix(prefix);
    request.set_cursor(cursor);
    request.set_page_size(limit);
    v1::ListResponse response;
    grpc::ClientContext context;
    if (const grpc::Status status = references_->List(&context, request, &response); !status.ok()) {
      return FromGrpc(status);
    }
    ReferencePage page;
    for (const v1::Reference& reference : response.references()) page.references.push_back(FromProto(reference));
    page.next_cursor = response.next_cursor();
    return page;
  }

  absl::StatusOr<uint64_t> Delete(const std::string& bucket, const std::vector<std::string>& names) override {
    v1::DeleteRequest request;
    request.set_bucket(bucket);
    for (const std::string& name : names) *request.add_names() = name;
    v1::DeleteResponse response;
    grpc::ClientContext context;
    const grpc::Status status = references_->Delete(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response.deleted();
  }

  absl::StatusOr<bool> CreateBucket(const std::string& bucket) override {
    v1::CreateBucketRequest request;
    request.set_bucket(bucket);
    v1::CreateBucketResponse response;
    grpc::ClientContext context;
    const grpc::Status status = references_->CreateBucket(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response.created();
  }

  absl::StatusOr<bool> DeleteBucket(const std::string& bucket) override {
    v1::DeleteBucketRequest request;
    request.set_bucket(bucket);
    v1::DeleteBucketResponse response;
    grpc::ClientContext context;
    const grpc::Status status = references_->DeleteBucket(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response.deleted();
  }

  absl::StatusOr<BucketPage> ListBuckets(const std::string& cursor, uint32_t limit) override {
    v1::ListBucketsRequest request;
    request.set_cursor(cursor);
    request.set_page_size(limit);
    v1::ListBucketsResponse response;
    grpc::ClientContext context;
    const grpc::Status status = references_->ListBuckets(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    BucketPage page;
    for (const v1::Bucket& bucket : response.buckets()) {
      page.buckets.push_back({bucket.bucket(), FromProto(bucket.created())});
    }
    page.next_cursor = response.next_cursor();
    return page;
  }

  absl::StatusOr<std::vector<Digest>> Lease(const std::string& bucket, const std::vector<Digest>& digests,
                                            absl::Duration duration) override {
    v1::LeaseRequest request;
    request.set_bucket(bucket);
    for (const Digest& digest : digests) request.add_digests(std::string(digest.view()));
    request.set_duration_seconds(static_cast<uint32_t>(absl::ToInt64Seconds(duration)));
    v1::LeaseResponse response;
    grpc::ClientContext context;
    const grpc::Status status = references_->Lease(&context, request, &response);
    if (!status.ok()) return FromGrpc(status);
    std::vector<Digest> missing;
    for (const std::string& digest : response.missing_digests()) missing.push_back(FromProto(digest));
    return missing;
  }

  absl::StatusOr<std::vector<VerifyFinding>> VerifyAll() override {
    v1::VerifyRequest request;
    request.set_all(true);
    grpc::ClientContext context;
    const auto reader = blobs_->Verify(&context, request);
    std::vector<VerifyFinding> findings;
    bool done = false;
    for (v1::VerifyResponse event; reader->Read(&event);) {
      done = event.has_progress() && event.progress().done();
      if (!event.has_finding()) continue;
      const v1::VerifyFinding& finding = event.finding();
      findings.push_back(
          {FromProto(finding.digest()), {finding.offset_bytes(), finding.length_bytes()}, finding.problem()});
    }
    if (const grpc::Status status = reader->Finish(); !status.ok()) return FromGrpc(status);
    if (!done) return absl::InternalError("the last message of a verification does not say that it is done");
    return findings;
  }

  absl::StatusOr<Erasure> Collect(bool dry_run) override {
    v1::CollectRequest request;
    request.set_dry_run(dry_run);
    v1::CollectResponse response;
    grpc::ClientContext context;
    if (const grpc::Status status = admin_->Collect(&context, request, &response); !status.ok()) {
      return FromGrpc(status);
    }
    return Erasure{response.blobs(), response.content_bytes()};
  }

  absl::StatusOr<ScrubStatus> Scrub() override {
    absl::StatusOr<v1::ScrubResponse> answer = AskScrubber(v1::ScrubRequest::ACTION_SET_RATE);
    // The cycle under way may have passed what the caller means.
    const uint64_t wanted = answer.ok() ? answer->cycles_completed() + 2 : 0;
    for (int i = 0; i < 3000 && answer.ok() && answer->cycles_completed() < wanted; ++i) {
      answer = AskScrubber(v1::ScrubRequest::ACTION_START);
      absl::SleepFor(absl::Milliseconds(10));
    }
    if (!answer.ok()) return answer.status();
    ScrubStatus status;
    status.rate_bytes_per_second = answer->rate_bytes_per_second();
    status.state.is_paused = !answer->running();
    status.state.blobs_checked = answer->blobs_checked();
    status.state.bytes_checked = answer->bytes_checked();
    status.state.findings = answer->findings();
    status.state.cycles_completed = answer->cycles_completed();
    status.state.last_completed_start = FromProto(answer->last_completed_start());
    return status;
  }
  absl::StatusOr<Quarantining> Quarantine(const Digest& digest, std::optional<uint64_t> version) override {
    return QuarantineStored(engine_, digest, version);
  }
  EngineStatus GetStatus() override {
    v1::StatusResponse response;
    grpc::ClientContext context;
    if (const grpc::Status status = admin_->Status(&context, {}, &response); !status.ok()) {
      ADD_FAILURE() << "Status: " << status.error_message();
      return {};
    }
    EngineStatus status;
    status.totals = {response.blobs(), response.content_bytes(), response.references(), response.referenced_bytes(),
                     response.buckets()};
    status.store_id = response.store_id();
    status.description = response.engine();
    status.staging_bytes = response.staging_bytes();
    status.puts_new = response.puts_new();
    status.puts_deduplicated = response.puts_deduplicated();
    status.deduplicated_bytes = response.deduplicated_bytes();
    return status;
  }

 private:
  absl::StatusOr<v1::ScrubResponse> AskScrubber(v1::ScrubRequest::Action action) {
    v1::ScrubRequest request;
    request.set_action(action);
    v1::ScrubResponse response;
    grpc::ClientContext context;
    if (const grpc::Status status = admin_->Scrub(&context, request, &response); !status.ok()) return FromGrpc(status);
    return response;
  }

  template <typename Request>
  absl::StatusOr<Reference> Ask(grpc::Status (v1::ReferenceService::Stub::*call)(grpc::ClientContext*, const Request&,
                                                                                 v1::Reference*),
                                const Request& request) {
    v1::Reference response;
    grpc::ClientContext context;
    if (const grpc::Status status = ((*references_).*call)(&context, request, &response); !status.ok()) {
      return FromGrpc(status);
    }
    return FromProto(response);
  }

  WorkerPool workers_;
  Engine& engine_;
  BlobStore store_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<v1::BlobService::Stub> blobs_;
  std::unique_ptr<v1::ReferenceService::Stub> references_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

}  // namespace

std::unique_ptr<StoreUnderTest> StoreOverWire(std::unique_ptr<Engine> engine) {
  return std::make_unique<OverWire>(std::move(engine));
}

}  // namespace coffer
