// SPDX-License-Identifier: Apache-2.0
#include "server/admin_service.h"

#include <string>

#include "absl/status/statusor.h"
#include "hashing/kernel.h"
#include "server/proto_conversion.h"
#include "server/scrub_control.h"
#include "server/unary_call.h"

namespace coffer {
namespace {

v1::StatusResponse DescribeServer(const Backend& backend) {
  const EngineStatus status = backend.store.GetStatus();
  v1::StatusResponse response;
  response.set_version(COFFER_VERSION);
  response.set_store_id(status.store_id);
  response.set_engine(status.description);
  *response.mutable_started() = TimeToWire(backend.started);
  response.set_blobs(status.totals.blobs);
  response.set_content_bytes(status.totals.content_bytes);
  response.set_references(status.totals.references);
  response.set_referenced_bytes(status.totals.referenced_bytes);
  response.set_buckets(status.totals.buckets);
  response.set_staging_bytes(status.staging_bytes);
  response.set_disk_total_bytes(status.disk_total_bytes);
  response.set_disk_free_bytes(status.disk_free_bytes);
  response.set_disk_low_water_bytes(status.disk_low_water_bytes);
  response.set_hash_kernel(std::string(ActiveKernelName()));
  response.set_puts_new(status.puts_new);
  response.set_puts_deduplicated(status.puts_deduplicated);
  response.set_deduplicated_bytes(status.deduplicated_bytes);
  return response;
}

}  // namespace

grpc::ServerUnaryReactor* AdminService::Status(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  return RunUnary<v1::StatusRequest>(backend_, "Status", context, request, response,
                                     [&backend = backend_](const v1::StatusRequest&) {
                                       return absl::StatusOr<v1::StatusResponse>(DescribeServer(backend));
                                     });
}

grpc::ServerUnaryReactor* AdminService::Scrub(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) {
  return RunUnary<v1::ScrubRequest>(
      backend_, "Scrub", context, request, response,
      [&store = backend_.store](const v1::ScrubRequest& asked) { return ControlScrubber(store, asked); });
}

grpc::ServerUnaryReactor* AdminService::Collect(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  return RunUnary<v1::CollectRequest>(
      backend_, "Collect", context, request, response,
      [&store = backend_.store](const v1::CollectRequest& asked) -> absl::StatusOr<v1::CollectResponse> {
        absl::StatusOr<Erasure> erasure = store.Collect(asked.dry_run());
        if (!erasure.ok()) return erasure.status();
        v1::CollectResponse answer;
        answer.set_blobs(erasure->blobs);
        answer.set_content_bytes(erasure->content_bytes);
        return answer;
      });
}

grpc::ServerUnaryReactor* AdminService::Backup(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  return RunUnary<v1::BackupRequest>(
      backend_, "Backup", context, request, response,
      [&store = backend_.store](const v1::BackupRequest& asked) -> absl::StatusOr<v1::BackupResponse> {
        absl::StatusOr<BackupSummary> backup = store.Backup(asked.name());
        if (!backup.ok()) return backup.status();
        v1::BackupResponse answer;
        answer.set_blobs(backup->blobs);
        answer.set_written_bytes(backup->written_bytes);
        answer.set_shared_bytes(backup->shared_bytes);
        return answer;
      });
}

}  // namespace coffer
