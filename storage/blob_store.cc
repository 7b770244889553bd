// SPDX-License-Identifier: Apache-2.0
#include "storage/blob_store.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "storage/names.h"

namespace coffer {
namespace {

std::string BucketOrDefault(absl::string_view bucket) { return std::string(bucket.empty() ? kDefaultBucket : bucket); }

absl::Status CheckLimit(uint32_t limit, uint32_t max) {
  if (limit <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("page size ", limit, " is above the limit of ", max));
}

}  // namespace

BlobStore::BlobStore(std::unique_ptr<Engine> engine, Options options)
    : engine_(std::move(engine)),
      options_(std::move(options)),
      collector_(*engine_, options_.grace),
      scrubber_(*engine_, {.report = options_.report_finding, .page = options_.scrub_page, .now = options_.now}) {
  if (options_.report_collector != nullptr) collector_.Start(options_.report_collector);
  if (options_.scrubs) scrubber_.Start();
}

absl::StatusOr<std::unique_ptr<Upload>> BlobStore::BeginUpload(UploadOptions options) {
  if (absl::Status status = NormaliseClaims(options, options_.max_blob_bytes); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Staging>> staging = engine_->Stage(options.declared_size_bytes.value_or(0));
  if (!staging.ok()) return staging.status();
  return std::make_unique<Upload>(*std::move(staging), std::move(options), options_.max_blob_bytes,
                                  options_.hash_workers, options_.now, hashed_in_parallel_);
}

std::vector<absl::StatusOr<PutResult>> BlobStore::PutBatch(absl::Span<const BatchItem> items) {
  size_t total_bytes = 0;
  for (const BatchItem& item : items) total_bytes += item.content.size();
  if (items.size() > kMaxBatch || total_bytes > kMaxBatchBytes) {
    return {items.size(), absl::InvalidArgumentError(absl::StrCat(
                              "the batch has ", items.size(), " blobs and ", total_bytes, " bytes: at most ", kMaxBatch,
                              " blobs and ", kMaxBatchBytes, " bytes are allowed"))};
  }
  return coffer::PutBatch(*engine_, items, options_.now());
}

std::vector<absl::StatusOr<BatchBlob>> BlobStore::GetBatch(absl::Span<const BlobSelector> blobs) {
  if (blobs.size() > kMaxBatch) {
    return {blobs.size(), absl::InvalidArgumentError(absl::StrCat("the batch has ", blobs.size(), " blobs: at most ",
                                                                  kMaxBatch, " are allowed"))};
  }
  std::vector<std::optional<Digest>> digests(blobs.size());
  std::vector<absl::StatusOr<BatchBlob>> got =
      coffer::GetBatch(blobs.size(), [&](size_t i) -> absl::StatusOr<OpenedBlob> {
        absl::StatusOr<Opened> opened = OpenSound(blobs[i], {});
        if (!opened.ok()) return opened.status();
        digests[i] = opened->digest;
        return OpenedBlob{opened->digest, std::move(opened->content)};
      });
  for (size_t i = 0; i < got.size(); ++i) {
    if (absl::IsDataLoss(got[i].status()) && digests[i].has_value()) scrubber_.Suspect(*digests[i]);
  }
  return got;
}

absl::StatusOr<BlobStore::Opened> BlobStore::OpenContent(const BlobSelector& blob, ByteRange range) {
  // A name can be deleted or overwritten, and its content collected, between the two look-ups; then it stands
  // for something else by now. A few rounds are enough unless somebody does nothing else but this.
  constexpr int kRounds = 8;
  Opened opened;
  absl::StatusOr<std::unique_ptr<Content>> content = absl::UnknownError("");
  if (const auto* digest = std::get_if<Digest>(&blob.by)) {
    if (absl::Status status = CheckBucket(BucketOrDefault(blob.bucket)); !status.ok()) return status;
    opened.digest = *digest;
    content = engine_->Open(*digest);
  } else {
    for (int round = 0; round < kRounds; ++round) {
      absl::StatusOr<Reference> found = Resolve(blob.bucket, std::get<std::string>(blob.by));
      if (!found.ok()) return found.status();
      const bool same_again = opened.reference.has_value() && opened.digest == found->digest;
      opened.digest = found->digest;
      opened.reference = *std::move(found);
      content = engine_->Open(opened.digest);
      if (!absl::IsNotFound(content.status())) break;
      if (!same_again) continue;
      return absl::DataLossError(absl::StrCat("name ", Quoted(opened.reference->name), " of bucket ",
                                              Quoted(opened.reference->bucket), " stands for blob ",
                                              opened.digest.ToHex(), ", which is not stored"));
    }
  }
  if (!content.ok()) return content.status();
  opened.content = *std::move(content);
  const uint64_t size_bytes = opened.content->size_bytes();
  if (range.offset_bytes > size_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("offset ", range.offset_bytes, " is behind the end of blob ",
                                                   opened.digest.ToHex(), ", which has ", size_bytes, " bytes"));
  }
  const uint64_t rest = size_bytes - range.offset_bytes;
  opened.range = range;
  opened.range.length_bytes = range.length_bytes == 0 ? rest : std::min(range.length_bytes, rest);
  return opened;
}

absl::StatusOr<BlobStore::Opened> BlobStore::OpenSound(const BlobSelector& blob, ByteRange range) {
  absl::StatusOr<Opened> opened = OpenContent(blob, range);
  if (!opened.ok() || opened->content->quarantine().empty()) return opened;
  return absl::DataLossError(absl::StrCat("blob ", opened->digest.ToHex(),
                                          " is quarantined until it is put again: ", opened->content->quarantine()));
}

absl::StatusOr<std::unique_ptr<BlobReader>> BlobStore::Open(const BlobSelector& blob, ByteRange range) {
  absl::StatusOr<Opened> opened = OpenSound(blob, range);
  if (!opened.ok()) return opened.status();
  return std::make_unique<BlobReader>(opened->digest, std::move(opened->content), std::move(opened->reference),
                                      opened->range, [this](const Digest& digest) { scrubber_.Suspect(digest); });
}

absl::StatusOr<BlobInfo> BlobStore::Stat(const BlobSelector& blob) {
  BlobInfo info;
  if (const auto* name = std::get_if<std::string>(&blob.by)) {
    absl::StatusOr<Reference> reference = Resolve(blob.bucket, *name);
    if (!reference.ok()) return reference.status();
    info.digest = reference->digest;
    info.size_bytes = reference->size_bytes;
    info.reference = *std::move(reference);
    return info;
  }
  if (absl::Status status = CheckBucket(BucketOrDefault(blob.bucket)); !status.ok()) return status;
  info.digest = std::get<Digest>(blob.by);
  absl::StatusOr<std::optional<uint64_t>> size_bytes = engine_->Find(info.digest);
  if (!size_bytes.ok()) return size_bytes.status();
  if (!size_bytes->has_value()) return BlobNotFound(info.digest);
  info.size_bytes = **size_bytes;
  return info;
}

absl::StatusOr<std::vector<Digest>> BlobStore::FindMissing(absl::string_view bucket, absl::Span<const Digest> digests) {
  if (absl::Status status = CheckBucket(BucketOrDefault(bucket)); !status.ok()) return status;
  if (digests.size() > kMaxFindMissing) {
    return absl::InvalidArgumentError(
        absl::StrCat(digests.size(), " digests are asked for in one call: at most ", kMaxFindMissing, " are allowed"));
  }
  std::vector<Digest> missing;
  absl::flat_hash_set<Digest> seen;
  for (const Digest& digest : digests) {
    if (!seen.insert(digest).second) continue;
    absl::StatusOr<std::optional<uint64_t>> found = engine_->Find(digest);
    if (!found.ok() && !absl::IsDataLoss(found.status())) return found.status();
    if (!found.ok() || !found->has_value()) missing.push_back(digest);
  }
  return missing;
}

absl::StatusOr<std::vector<Digest>> BlobStore::Lease(absl::string_view bucket, absl::Span<const Digest> digests,
                                                     absl::Duration duration) {
  const Bucket in{BucketOrDefault(bucket), options_.now()};
  if (absl::Status status = CheckBucket(in.name); !status.ok()) return status;
  if (digests.size() > kMaxFindMissing) {
    return absl::InvalidArgumentError(absl::StrCat(digests.size(), " digests are to be leased in one call: at most ",
                                                   kMaxFindMissing, " are allowed"));
  }
  if (duration < absl::Seconds(1) || duration > kMaxLease) {
    return absl::InvalidArgumentError(absl::StrCat("a lease of ", absl::ToInt64Seconds(duration), " seconds: 1 to ",
                                                   absl::ToInt64Seconds(kMaxLease), " are allowed"));
  }
  std::vector<Digest> each_once;
  absl::flat_hash_set<Digest> seen;
  for (const Digest& digest : digests) {
    if (seen.insert(digest).second) each_once.push_back(digest);
  }
  return engine_->Lease(in, each_once, engine_->Uptime() + duration);
}

absl::StatusOr<Reference> BlobStore::Bind(std::string bucket, std::string name, const Digest& digest,
                                          Metadata metadata) {
  Reference reference;
  reference.bucket = BucketOrDefault(bucket);
  reference.name = name.empty() ? digest.ToHex() : std::move(name);
  reference.digest = digest;
  if (absl::Status status = CheckBucket(reference.bucket); !status.ok()) return status;
  if (absl::Status status = CheckName(reference.name); !status.ok()) return status;
  if (absl::Status status = CheckNameFits(reference.name, digest); !status.ok()) return status;
  absl::StatusOr<Metadata> normalised = NormaliseMetadata(metadata);
  if (!normalised.ok()) return normalised.status();
  reference.metadata = *std::move(normalised);
  reference.created = options_.now();
  absl::StatusOr<uint64_t> size_bytes = engine_->Bind(reference);
  if (!size_bytes.ok()) return size_bytes.status();
  reference.size_bytes = *size_bytes;
  return reference;
}

absl::StatusOr<Reference> BlobStore::Resolve(absl::string_view bucket, absl::string_view name) {
  const std::string in = BucketOrDefault(bucket);
  if (absl::Status status = CheckBucket(in); !status.ok()) return status;
  if (absl::Status status = CheckName(name); !status.ok()) return status;
  return engine_->Resolve(in, name);
}

absl::StatusOr<ReferencePage> BlobStore::List(absl::string_view bucket, absl::string_view prefix,
                                              absl::string_view cursor, uint32_t limit) {
  const std::string in = BucketOrDefault(bucket);
  if (absl::Status status = CheckBucket(in); !status.ok()) return status;
  if (absl::Status status = CheckLimit(limit, kMaxPage); !status.ok()) return status;
  const size_t page = limit == 0 ? kDefaultPage : limit;
  // One more than asked for tells whether there is a next page.
  absl::StatusOr<std::vector<ListedReference>> listed = engine_->List(in, prefix, cursor, page + 1);
  if (!listed.ok()) return listed.status();
  ReferencePage result;
  for (ListedReference& row : *listed) {
    if (!row.reference.ok()) return row.reference.status();
    result.references.push_back(*std::move(row.reference));
  }
  if (result.references.size() > page) {
    result.references.pop_back();
    result.next_cursor = result.references.back().name;
  }
  return result;
}

absl::StatusOr<uint64_t> BlobStore::Delete(absl::string_view bucket, absl::Span<const std::string> names) {
  const std::string in = BucketOrDefault(bucket);
  if (absl::Status status = CheckBucket(in); !status.ok()) return status;
  if (names.size() > kMaxDelete) {
    return absl::InvalidArgumentError(
        absl::StrCat(names.size(), " names are to be deleted in one call: at most ", kMaxDelete, " are allowed"));
  }
  for (const std::string& name : names) {
    if (absl::Status status = CheckName(name); !status.ok()) return status;
  }
  return engine_->Delete(in, names);
}

absl::StatusOr<bool> BlobStore::CreateBucket(absl::string_view bucket) {
  Bucket made{BucketOrDefault(bucket), options_.now()};
  if (absl::Status status = CheckBucket(made.name); !status.ok()) return status;
  return engine_->CreateBucket(made);
}

absl::StatusOr<bool> BlobStore::DeleteBucket(absl::string_view bucket) {
  // No default here: deleting a whole bucket takes naming it.
  if (absl::Status status = CheckBucket(bucket); !status.ok()) return status;
  return engine_->DeleteBucket(bucket);
}

absl::StatusOr<BucketPage> BlobStore::ListBuckets(absl::string_view cursor, uint32_t limit) {
  if (absl::Status status = CheckLimit(limit, kMaxPage); !status.ok()) return status;
  const size_t page = limit == 0 ? kDefaultPage : limit;
  absl::StatusOr<std::vector<ListedBucket>> listed = engine_->ListBuckets(cursor, page + 1);
  if (!listed.ok()) return listed.status();
  BucketPage result;
  for (ListedBucket& row : *listed) {
    if (!row.bucket.ok()) return row.bucket.status();
    result.buckets.push_back(*std::move(row.bucket));
  }
  if (result.buckets.size() > page) {
    result.buckets.pop_back();
    result.next_cursor = result.buckets.back().name;
  }
  return result;
}

Verifier BlobStore::VerifierFor(const VerifyObserver& observer) {
  // If it cannot be quarantined the damage is reported all the same, and every reader meets it again.
  return Verifier(*engine_, observer, [this](const Digest& digest) { scrubber_.Examine(digest).IgnoreError(); });
}

absl::Status BlobStore::VerifyBlob(const BlobSelector& blob, ByteRange range, const VerifyObserver& observer) {
  Verifier verifier = VerifierFor(observer);
  absl::StatusOr<Opened> opened = OpenContent(blob, range);
  if (absl::IsDataLoss(opened.status())) {
    const auto* digest = std::get_if<Digest>(&blob.by);
    return verifier.ReportUnreadable(digest == nullptr ? std::nullopt : std::make_optional(*digest), opened.status());
  }
  if (!opened.ok()) return opened.status();
  return verifier.CheckContent(opened->digest, *opened->content, opened->range);
}

absl::Status BlobStore::VerifyBucket(absl::string_view bucket, const VerifyObserver& observer) {
  const std::string in = BucketOrDefault(bucket);
  if (absl::Status status = CheckBucket(in); !status.ok()) return status;
  return VerifierFor(observer).CheckBucket(in, true);
}

absl::Status BlobStore::VerifyAll(const VerifyObserver& observer) { return VerifierFor(observer).CheckAll(); }

absl::StatusOr<uint64_t> BlobStore::CountQuarantined() {
  constexpr size_t kPage = 1000;
  uint64_t count = 0;
  std::optional<Digest> after;
  while (count < kMaxQuarantined) {
    absl::StatusOr<std::vector<Quarantined>> page = engine_->ListQuarantined(after, kPage);
    if (!page.ok()) return page.status();
    count += page->size();
    if (page->size() < kPage) break;
    after = page->back().digest;
  }
  return count;
}

absl::StatusOr<BackupSummary> BlobStore::Backup(absl::string_view name) {
  if (absl::Status status = CheckBackupName(name); !status.ok()) return status;
  if (options_.backup_dir.empty()) {
    return absl::FailedPreconditionError("the server has no backup directory: start it with --backup-dir");
  }
  return engine_->Backup(options_.backup_dir, std::string(name));
}

EngineStatus BlobStore::GetStatus() const { return engine_->GetStatus(); }

}  // namespace coffer
