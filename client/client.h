// SPDX-License-Identifier: Apache-2.0
//
// The C++ client of a coffer server. The rules for buckets, names, digests and ranges are those of
// proto/coffer/v1/blob_service.proto.
//
// Every function returns the server's status code with the server's message. Besides those:
//   UNAVAILABLE         no server answered, after the retries; the message names the address
//   DEADLINE_EXCEEDED   the server took longer than ClientOptions allows
//   CANCELLED           Cancel() was called
//   DATA_LOSS           what arrived is not what was asked for: nothing of it may be used
// and whatever a source, a sink or the local file system reports.
//
// Every call here may be made again safely (a second put of the same bytes stores nothing new, a second delete
// finds nothing), so UNAVAILABLE is retried with growing pauses, with these exceptions: a put whose source cannot
// be rewound, a get or a verify that has already handed something to its caller.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "client/retry.h"
#include "client/source.h"
#include "hashing/bytes.h"
#include "hashing/digest.h"

namespace coffer::client {

class Connection;

struct ClientOptions {
  // How long a call without a stream may take, its retries included.
  absl::Duration deadline = absl::Seconds(60);
  // How long a stream may wait for the server in one go: to take or give the next bytes, or to commit. A stream
  // that moves may last as long as it likes. Generous, for a commit syncs and may wait behind others.
  absl::Duration idle_timeout = absl::Seconds(120);
  RetryPolicy retry;
};

using Metadata = std::map<std::string, std::string>;

// Called with the bytes that moved since the last call; negative when a retry starts over.
using ProgressFn = std::function<void(int64_t bytes)>;

// Takes the next bytes of a get; an error ends the get and is returned by it.
using Sink = std::function<absl::Status(ByteSpan)>;

// Names one blob: a name in a bucket, or a digest that the bucket shows.
struct Selector {
  std::string bucket;  // empty: "default"
  std::variant<std::string, Digest> by;
};

struct PutOptions {
  std::string bucket = {};
  std::string name = {};  // empty: the digest in hex
  // Content with another digest is not stored: DATA_LOSS. (Content that the server finds to have another digest than
  // this side computed is not stored either: INVALID_ARGUMENT, with both.)
  std::optional<Digest> expected_digest = {};
  Metadata metadata = {};
  ProgressFn progress = {};
};

struct PutResult {
  Digest digest;
  uint64_t size_bytes = 0;
  bool deduplicated = false;
  std::string name;
};

struct GetResult {
  Digest digest;
  uint64_t size_bytes = 0;    // of the whole blob
  uint64_t offset_bytes = 0;  // the range that was handed out
  uint64_t length_bytes = 0;
  Metadata metadata;
};

struct GetOptions {
  uint64_t offset_bytes = 0;
  uint64_t length_bytes = 0;  // 0: to the end
  // What will come, before its first byte; again if the get is retried.
  std::function<void(const GetResult&)> header = {};
  ProgressFn progress = {};
};

struct BlobStat {
  Digest digest;
  uint64_t size_bytes = 0;
  // Set if selected by name.
  std::string name;
  Metadata metadata;
  std::optional<absl::Time> created;
};

struct Reference {
  std::string bucket;
  std::string name;
  Digest digest;
  uint64_t size_bytes = 0;
  Metadata metadata;
  absl::Time created;
};

struct ListOptions {
  std::string bucket = {};
  std::string prefix = {};
  uint32_t page_size = 0;  // 0: the server's default
  std::string cursor = {};
};

struct ReferencePage {
  std::vector<Reference> references;
  std::string next_cursor;  // empty: the last page
};

struct Bucket {
  std::string bucket;
  absl::Time created;
};

struct BucketPage {
  std::vector<Bucket> buckets;
  std::string next_cursor;
};

struct WholeBucket {
  std::string bucket;
};
struct WholeStore {};

struct VerifyOptions {
  std::variant<WholeStore, WholeBucket, Selector> scope = {};
  uint64_t offset_bytes = 0;  // for a Selector
  uint64_t length_bytes = 0;
};

struct VerifyProgress {
  uint64_t blobs_checked = 0;
  uint64_t bytes_checked = 0;
  uint64_t findings = 0;
};

struct VerifyFinding {
  // Absent if a reference or a bucket is what is damaged.
  std::optional<Digest> digest;
  uint64_t offset_bytes = 0;
  uint64_t length_bytes = 0;
  std::string problem;
};

// Either may be empty.
struct VerifyCallbacks {
  std::function<void(const VerifyProgress&)> progress = {};
  std::function<void(const VerifyFinding&)> finding = {};
};

struct ServerStatus {
  std::string version, store_id, engine, hash_kernel;
  absl::Time started;
  uint64_t blobs = 0, content_bytes = 0, references = 0, referenced_bytes = 0, buckets = 0, staging_bytes = 0;
  uint64_t disk_total_bytes = 0, disk_free_bytes = 0, disk_low_water_bytes = 0;
  uint64_t puts_new = 0, puts_deduplicated = 0, deduplicated_bytes = 0;
};

struct BackupResult {
  uint64_t blobs = 0;
  uint64_t written_bytes = 0;
  // Bytes of files that earlier backups have as well.
  uint64_t shared_bytes = 0;
};

// What was reclaimed, or with a dry run would be.
struct CollectResult {
  uint64_t blobs = 0;
  uint64_t content_bytes = 0;
};

enum class ScrubAction { kStatus, kStart, kPause, kSetRate };

struct ScrubStatus {
  bool running = false;
  uint64_t rate_bytes_per_second = 0;  // 0: unlimited
  uint64_t cycles_completed = 0;
  // Of the cycle under way, or else of the last one.
  uint64_t blobs_checked = 0, bytes_checked = 0, rows_checked = 0;
  uint64_t findings = 0;  // of all cycles
  uint64_t quarantined_blobs = 0;
  std::optional<absl::Time> cycle_start;           // empty: none is under way
  std::optional<absl::Time> last_completed_start;  // empty: none was completed
  uint64_t age_seconds = 0;                        // since last_completed_start
  std::string last_failure;                        // empty: none
};

// One connection to one server. Thread-safe. Calls block their thread.
class Client {
 public:
  // `server` is "HOST:PORT" or "unix:PATH". Connects with the first call.
  explicit Client(const std::string& server, const ClientOptions& options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Stores what `source` gives. The digest is computed while sending; an answer with another one is DATA_LOSS.
  // Holds about 2 MiB.
  absl::StatusOr<PutResult> Put(Source& source, const PutOptions& options);
  absl::StatusOr<PutResult> PutBytes(ByteSpan bytes, const PutOptions& options);
  absl::StatusOr<PutResult> PutFile(const std::string& path, const PutOptions& options);

  // Hands the bytes to `sink` in order. What was handed out counts only if OK is returned: then it has the
  // length that the server announced and, for a whole blob, the announced (and the selected) digest.
  absl::StatusOr<GetResult> Get(const Selector& blob, const GetOptions& options, const Sink& sink);
  // Replaces `out`. RESOURCE_EXHAUSTED if there are more than `limit_bytes`.
  absl::StatusOr<GetResult> GetBytes(const Selector& blob, const GetOptions& options, uint64_t limit_bytes,
                                     std::string* out);
  // The file appears whole, synced, or not at all (part_file.h), replacing a regular file in its place.
  // A file that is replaced hands on its mode. Through a symbolic link its target is replaced, and one whose target
  // does not exist is FAILED_PRECONDITION; what is neither (/dev/null, a FIFO) is written to directly.
  absl::StatusOr<GetResult> GetToFile(const Selector& blob, const GetOptions& options, const std::string& path);

  absl::StatusOr<BlobStat> Stat(const Selector& blob);
  // Those of `digests` that are not stored, each once, in order. Any number; "present" is a hint.
  absl::StatusOr<std::vector<Digest>> FindMissing(const std::string& bucket, absl::Span<const Digest> digests);
  // OK also if there were findings; look at the result.
  absl::StatusOr<VerifyProgress> Verify(const VerifyOptions& options, const VerifyCallbacks& callbacks);

  absl::StatusOr<Reference> Bind(const std::string& bucket, const std::string& name, const Digest& digest,
                                 const Metadata& metadata);
  absl::StatusOr<Reference> Resolve(const std::string& bucket, const std::string& name);
  absl::StatusOr<ReferencePage> List(const ListOptions& options);
  // All pages from `options` on; an error of `visit` ends it and is returned.
  absl::Status ForEachReference(ListOptions options, absl::FunctionRef<absl::Status(const Reference&)> visit);
  // Any number of names. How many of them existed (fewer may be counted if a call had to be repeated).
  absl::StatusOr<uint64_t> Delete(const std::string& bucket, absl::Span<const std::string> names);

  // True if it did not exist / if it existed.
  absl::StatusOr<bool> CreateBucket(const std::string& bucket);
  absl::StatusOr<bool> DeleteBucket(const std::string& bucket);
  absl::StatusOr<BucketPage> ListBuckets(uint32_t page_size, const std::string& cursor);

  absl::StatusOr<ServerStatus> Status();
  // Takes as long as the server needs: there is no deadline, and it is not repeated.
  absl::StatusOr<BackupResult> Backup(const std::string& name);
  // Has what is garbage now reclaimed.
  absl::StatusOr<CollectResult> Collect(bool dry_run);
  // Controls the server's scrubber; how it stands after that. The rate is for kSetRate.
  absl::StatusOr<ScrubStatus> Scrub(ScrubAction action, uint64_t rate_bytes_per_second);

  // Ends every call under way, and every later one, with CANCELLED. For any thread.
  void Cancel();

 private:
  std::unique_ptr<Connection> connection_;
};

}  // namespace coffer::client
