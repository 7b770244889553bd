// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_server.h"

#include <chrono>

#include "tests/support/samples.h"

namespace coffer::testing {
namespace {

constexpr size_t kPieceBytes = 64 * 1024;

std::string DigestBytes(const std::string& content) { return std::string(DigestOf(content).view()); }

std::string OrDefault(const std::string& bucket) { return bucket.empty() ? "default" : bucket; }

grpc::Status NotFound(const std::string& what) {
  return grpc::Status(grpc::StatusCode::NOT_FOUND, what + " does not exist");
}

}  // namespace

FakeServer::FakeServer(const std::string& address) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(static_cast<v1::BlobService::Service*>(this));
  builder.RegisterService(static_cast<v1::ReferenceService::Service*>(this));
  builder.RegisterService(static_cast<v1::AdminService::Service*>(this));
  server_ = builder.BuildAndStart();
  address_ = address.substr(0, address.rfind(':') + 1) + std::to_string(port);
}

FakeServer::~FakeServer() { server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1)); }

grpc::Status FakeServer::Begin(const std::string& rpc) {
  {
    std::lock_guard lock(mutex_);
    ++calls_[rpc];
  }
  return faults_.before ? faults_.before(rpc) : grpc::Status::OK;
}

Digest FakeServer::Add(const std::string& name, const std::string& content, const std::string& bucket) {
  std::lock_guard lock(mutex_);
  return *Digest::FromBytes(Store(bucket, name, content, {}).digest());
}

std::vector<std::string> FakeServer::Names(const std::string& bucket) {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, reference] : buckets_[bucket]) names.push_back(name);
  return names;
}

std::string FakeServer::Content(const std::string& name, const std::string& bucket) {
  std::lock_guard lock(mutex_);
  const v1::Reference* reference = Find(bucket, name);
  return reference == nullptr ? "(missing)" : contents_[reference->digest()];
}

int FakeServer::Calls(const std::string& rpc) {
  std::lock_guard lock(mutex_);
  return calls_[rpc];
}

v1::PutHeader FakeServer::last_put_header() {
  std::lock_guard lock(mutex_);
  return last_put_header_;
}

v1::Reference* FakeServer::Find(const std::string& bucket, const std::string& name) {
  const auto found_bucket = buckets_.find(OrDefault(bucket));
  if (found_bucket == buckets_.end()) return nullptr;
  const auto found = found_bucket->second.find(name);
  return found == found_bucket->second.end() ? nullptr : &found->second;
}

v1::Reference FakeServer::Store(const std::string& bucket, const std::string& name, const std::string& content,
                                const google::protobuf::Map<std::string, std::string>& metadata) {
  v1::Reference reference;
  reference.set_bucket(OrDefault(bucket));
  reference.set_digest(DigestBytes(content));
  reference.set_name(name.empty() ? Digest::FromBytes(reference.digest())->ToHex() : name);
  reference.set_size_bytes(content.size());
  *reference.mutable_metadata() = metadata;
  reference.mutable_created()->set_seconds(1700000000);
  contents_[reference.digest()] = content;
  buckets_[reference.bucket()][reference.name()] = reference;
  return reference;
}

grpc::Status FakeServer::Put(grpc::ServerContext* context, grpc::ServerReader<v1::PutRequest>* stream,
                             v1::PutResponse* response) {
  if (grpc::Status status = Begin("Put"); !status.ok()) return status;
  v1::PutRequest message;
  if (!stream->Read(&message) || !message.has_header()) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no header");
  }
  const v1::PutHeader header = message.header();
  std::string content;
  while (stream->Read(&message)) {
    if (faults_.put_message) {
      if (grpc::Status status = faults_.put_message(); !status.ok()) return status;
    }
    content += message.data();
  }
  if (context->IsCancelled()) return grpc::Status::CANCELLED;
  if (!header.expected_digest().empty() && header.expected_digest() != DigestBytes(content)) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "another digest");
  }
  if (header.has_size_bytes() && header.size_bytes() != content.size()) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "another size");
  }
  std::lock_guard lock(mutex_);
  last_put_header_ = header;
  response->set_deduplicated(contents_.contains(DigestBytes(content)));
  const v1::Reference reference = Store(header.bucket(), header.name(), content, header.metadata());
  response->set_digest(reference.digest());
  response->set_size_bytes(content.size());
  response->set_name(reference.name());
  if (faults_.put_answer) faults_.put_answer(*response);
  return grpc::Status::OK;
}

grpc::Status FakeServer::Select(const v1::BlobSelector& blob, v1::Reference* found) {
  if (blob.by_case() == v1::BlobSelector::kDigest) {
    if (!contents_.contains(blob.digest())) return NotFound(Digest::FromBytes(blob.digest())->ToHex());
    found->set_digest(blob.digest());
    found->set_size_bytes(contents_[blob.digest()].size());
    return grpc::Status::OK;
  }
  const v1::Reference* reference = Find(blob.bucket(), blob.name());
  if (reference == nullptr) return NotFound("name " + blob.name());
  *found = *reference;
  return grpc::Status::OK;
}

grpc::Status FakeServer::Get(grpc::ServerContext*, const v1::GetRequest* request,
                             grpc::ServerWriter<v1::GetResponse>* stream) {
  if (grpc::Status status = Begin("Get"); !status.ok()) return status;
  v1::Reference reference;
  std::string content;
  {
    std::lock_guard lock(mutex_);
    if (grpc::Status status = Select(request->blob(), &reference); !status.ok()) return status;
    content = contents_[reference.digest()];
  }
  const uint64_t whole_bytes = content.size();
  if (request->offset_bytes() > whole_bytes) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "offset past the end");
  }
  content = content.substr(request->offset_bytes(),
                           request->length_bytes() == 0 ? std::string::npos : request->length_bytes());
  v1::GetResponse message;
  message.mutable_header()->set_digest(reference.digest());
  message.mutable_header()->set_size_bytes(whole_bytes);
  message.mutable_header()->set_offset_bytes(request->offset_bytes());
  message.mutable_header()->set_length_bytes(content.size());
  *message.mutable_header()->mutable_metadata() = reference.metadata();
  for (size_t begin = 0;; begin += kPieceBytes) {
    if (faults_.get_message && !faults_.get_message(message)) return faults_.get_status;
    if (!stream->Write(message)) return grpc::Status::CANCELLED;
    if (begin >= content.size()) return faults_.get_status;
    message.set_data(content.substr(begin, kPieceBytes));
  }
}

grpc::Status FakeServer::Stat(grpc::ServerContext*, const v1::StatRequest* request, v1::StatResponse* response) {
  if (grpc::Status status = Begin("Stat"); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  v1::Reference reference;
  if (grpc::Status status = Select(request->blob(), &reference); !status.ok()) return status;
  response->set_digest(reference.digest());
  response->set_size_bytes(reference.size_bytes());
  response->set_name(reference.name());
  *response->mutable_metadata() = reference.metadata();
  if (reference.has_created()) *response->mutable_created() = reference.created();
  return grpc::Status::OK;
}

grpc::Status FakeServer::FindMissing(grpc::ServerContext*, const v1::FindMissingRequest* request,
                                     v1::FindMissingResponse* response) {
  if (grpc::Status status = Begin("FindMissing"); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  for (const std::string& digest : request->digests()) {
    if (!contents_.contains(digest)) response->add_missing_digests(digest);
  }
  return grpc::Status::OK;
}

grpc::Status FakeServer::Verify(grpc::ServerContext*, const v1::VerifyRequest* request,
                                grpc::ServerWriter<v1::VerifyResponse>* stream) {
  if (grpc::Status status = Begin("Verify"); !status.ok()) return status;
  v1::VerifyResponse message;
  uint64_t blobs = 1, bytes = 0;
  {
    std::lock_guard lock(mutex_);
    v1::Reference reference;
    if (request->has_blob()) {
      if (grpc::Status status = Select(request->blob(), &reference); !status.ok()) return status;
      bytes = reference.size_bytes();
    } else {
      blobs = contents_.size();
      for (const auto& [digest, content] : contents_) bytes += content.size();
    }
  }
  for (const v1::VerifyFinding& finding : faults_.findings) {
    *message.mutable_finding() = finding;
    stream->Write(message);
  }
  message.mutable_progress()->set_blobs_checked(blobs);
  message.mutable_progress()->set_bytes_checked(bytes);
  message.mutable_progress()->set_findings(faults_.findings.size());
  message.mutable_progress()->set_done(faults_.verify_says_done);
  stream->Write(message);
  return grpc::Status::OK;
}

grpc::Status FakeServer::Bind(grpc::ServerContext*, const v1::BindRequest* request, v1::Reference* response) {
  if (grpc::Status status = Begin("Bind"); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  if (!contents_.contains(request->digest())) return NotFound("content");
  *response = Store(request->bucket(), request->name(), contents_[request->digest()], request->metadata());
  return grpc::Status::OK;
}

grpc::Status FakeServer::Resolve(grpc::ServerContext*, const v1::ResolveRequest* request, v1::Reference* response) {
  if (grpc::Status status = Begin("Resolve"); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  const v1::Reference* reference = Find(request->bucket(), request->name());
  if (reference == nullptr) return NotFound("name " + request->name());
  *response = *reference;
  return grpc::Status::OK;
}

grpc::Status FakeServer::List(grpc::ServerContext*, const v1::ListRequest* request, v1::ListResponse* response) {
  if (grpc::Status status = Begin("List"); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  const auto bucket = buckets_.find(OrDefault(request->bucket()));
  if (bucket == buckets_.end()) return NotFound("bucket " + OrDefault(request->bucket()));
  auto next = request->cursor().empty() ? bucket->second.lower_bound(request->prefix())
                                        : bucket->second.upper_bound(request->cursor());
  for (; next != bucket->second.end() && next->first.starts_with(request->prefix()); ++next) {
    if (response->references_size() == static_cast<int>(faults_.page_size)) {
      response->set_next_cursor(response->references().rbegin()->name());
      break;
    }
    *response->add_references() = next->second;
  }
  return grpc::Status::OK;
}

grpc::Status FakeServer::Delete(grpc::ServerContext*, const v1::DeleteRequest* request, v1::DeleteResponse* response) {
  if (grpc::Status status = Begin("Delete"); !status.ok()) return status;
  if (request->names_size() > 1024) return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "too many names");
  std::lock_guard lock(mutex_);
  const auto bucket = buckets_.find(OrDefault(request->bucket()));
  if (bucket == buckets_.end()) return grpc::Status::OK;
  uint64_t deleted = 0;
  for (const std::string& name : request->names()) deleted += bucket->second.erase(name);
  response->set_deleted(deleted);
  return grpc::Status::OK;
}

grpc::Status FakeServer::CreateBucket(grpc::ServerContext*, const v1::CreateBucketRequest* request,
                                      v1::CreateBucketResponse* response) {
  if (grpc::Status status = Begin("CreateBucket"); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  response->set_created(buckets_.try_emplace(OrDefault(request->bucket())).second);
  return grpc::Status::OK;
}

grpc::Status FakeServer::ListBuckets(grpc::ServerContext*, const v1::ListBucketsRequest* request,
                                     v1::ListBucketsResponse* response) {
  if (grpc::Status status = Begin("ListBuckets"); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  auto next = request->cursor().empty() ? buckets_.begin() : buckets_.upper_bound(request->cursor());
  for (; next != buckets_.end(); ++next) {
    if (response->buckets_size() == static_cast<int>(faults_.page_size)) {
      response->set_next_cursor(response->buckets().rbegin()->bucket());
      break;
    }
    response->add_buckets()->set_bucket(next->first);
  }
  return grpc::Status::OK;
}

grpc::Status FakeServer::DeleteBucket(grpc::ServerContext*, const v1::DeleteBucketRequest* request,
                                      v1::DeleteBucketResponse* response) {
  if (grpc::Status status = Begin("DeleteBucket"); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  response->set_deleted(buckets_.erase(OrDefault(request->bucket())) > 0);
  return grpc::Status::OK;
}

// What no name stands for is garbage.
grpc::Status FakeServer::Collect(grpc::ServerContext*, const v1::CollectRequest* request,
                                 v1::CollectResponse* response) {
  if (grpc::Status status = Begin("Collect"); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  std::map<std::string, std::string> kept;
  for (const auto& [name, references] : buckets_) {
    for (const auto& [_, reference] : references) kept[reference.digest()] = contents_[reference.digest()];
  }
  for (const auto& [digest, content] : contents_) {
    if (kept.contains(digest)) continue;
    response->set_blobs(response->blobs() + 1);
    response->set_content_bytes(response->content_bytes() + content.size());
  }
  if (!request->dry_run()) contents_ = kept;
  return grpc::Status::OK;
}

grpc::Status FakeServer::Scrub(grpc::ServerContext*, const v1::ScrubRequest* request, v1::ScrubResponse* response) {
  if (grpc::Status status = Begin("Scrub"); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  if (request->action() == v1::ScrubRequest::ACTION_START) scrub_.set_running(true);
  if (request->action() == v1::ScrubRequest::ACTION_PAUSE) scrub_.set_running(false);
  if (request->action() == v1::ScrubRequest::ACTION_SET_RATE) {
    scrub_.set_rate_bytes_per_second(request->rate_bytes_per_second());
  }
  *response = scrub_;
  return grpc::Status::OK;
}

grpc::Status FakeServer::Status(grpc::ServerContext*, const v1::StatusRequest*, v1::StatusResponse* response) {
  if (grpc::Status status = Begin("Status"); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  response->set_version("fake");
  response->set_blobs(contents_.size());
  response->set_buckets(buckets_.size());
  return grpc::Status::OK;
}

}  // namespace coffer::testing
