// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/model.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace coffer::faults {
namespace {

using Kind = Operation::Kind;

// Small, so that listing goes through several pages.
constexpr uint32_t kPage = 7;
// Enough to see what went wrong.
constexpr size_t kMaxProblems = 6;

}  // namespace

void Model::Apply(const Operation& operation, Buckets& buckets) {
  switch (operation.kind) {
    case Kind::kPut:
    case Kind::kPutBatch:
    case Kind::kBind:
      for (const Operation::Item& item : operation.items) {
        buckets[operation.bucket][item.name] = {item.content, operation.serial};
      }
      break;
    case Kind::kDelete:
      if (const auto bucket = buckets.find(operation.bucket); bucket != buckets.end()) {
        for (const Operation::Item& item : operation.items) bucket->second.erase(item.name);
      }
      break;
    case Kind::kCreateBucket:
      buckets[operation.bucket];
      break;
    case Kind::kDeleteBucket:
      buckets.erase(operation.bucket);
      break;
    case Kind::kAbandonedPut:
    case Kind::kGet:
    case Kind::kCollect:
      break;
  }
}

void Model::Begin(int thread, const Operation& operation) {
  std::lock_guard lock(mutex_);
  under_way_[thread] = operation;
}

std::string Model::End(int thread, const absl::Status& answer) {
  std::lock_guard lock(mutex_);
  const Operation operation = std::move(under_way_.extract(thread).mapped());
  const auto wrong = [&](absl::string_view why) {
    return absl::StrCat(Describe(operation, contents_), ": ", why, ": ", answer.ToString());
  };
  if (absl::IsNotFound(answer) && operation.kind == Kind::kGet) {
    const auto bucket = buckets_.find(operation.bucket);
    const bool exists = bucket != buckets_.end() && bucket->second.contains(operation.items.front().name);
    return exists ? wrong("acknowledged, but missing") : "";
  }
  if (absl::IsNotFound(answer) && operation.kind == Kind::kBind) {
    // Others may delete what is stored, but not what this thread refers to.
    for (const std::string& name : Script::BucketsOf(thread)) {
      const auto bucket = buckets_.find(name);
      if (bucket == buckets_.end()) continue;
      for (const auto& [ignored, reference] : bucket->second) {
        if (reference.content == operation.items.front().content) return wrong("referenced content is missing");
      }
    }
    return "";
  }
  if (!answer.ok()) {
    under_way_[thread] = operation;
    return wrong("failed");
  }
  Apply(operation, buckets_);
  return "";
}

uint64_t Model::references() const {
  std::lock_guard lock(mutex_);
  uint64_t count = 0;
  for (const auto& [name, bucket] : buckets_) count += bucket.size();
  return count;
}

absl::StatusOr<Model::Buckets> Model::Observe(BlobStore& store) {
  Buckets seen;
  std::string next_bucket;
  do {
    absl::StatusOr<BucketPage> page = store.ListBuckets(next_bucket, kPage);
    if (!page.ok()) return page.status();
    for (const coffer::Bucket& bucket : page->buckets) seen[bucket.name];
    next_bucket = page->next_cursor;
  } while (!next_bucket.empty());
  for (auto& [name, bucket] : seen) {
    std::string next_name;
    do {
      absl::StatusOr<ReferencePage> page = store.List(name, "", next_name, kPage);
      if (!page.ok()) return page.status();
      for (const coffer::Reference& reference : page->references) {
        const std::optional<ContentId> content = contents_.Find(reference.digest);
        if (!content.has_value() || contents_.size_bytes(*content) != reference.size_bytes) {
          return absl::DataLossError(absl::StrCat(name, "/", reference.name, " names what was never put"));
        }
        const auto serial = reference.metadata.find(kSerialKey);
        bucket[reference.name] = {*content, serial == reference.metadata.end() ? "" : serial->second};
      }
      next_name = page->next_cursor;
    } while (!next_name.empty());
  }
  return seen;
}

void Model::SettleUnderWay(const Buckets& seen, std::vector<std::string>& problems) {
  const auto bucket_in = [](const Buckets& buckets, const std::string& name) {
    const auto found = buckets.find(name);
    return found == buckets.end() ? std::optional<Bucket>() : found->second;
  };
  // Threads share no bucket, so each operation shows in its own.
  for (const auto& [thread, operation] : under_way_) {
    Buckets after = buckets_;
    Apply(operation, after);
    const std::optional<Bucket> now = bucket_in(seen, operation.bucket);
    if (now == bucket_in(after, operation.bucket)) {
      buckets_ = std::move(after);
    } else if (now != bucket_in(buckets_, operation.bucket)) {
      problems.push_back(
          absl::StrCat(Describe(operation, contents_), ": under way at the crash, and half of it shows"));
    }
  }
  under_way_.clear();
}

void Model::CompareNames(const Buckets& seen, std::vector<std::string>& problems) const {
  for (const auto& [name, bucket] : buckets_) {
    const auto found = seen.find(name);
    if (found == seen.end()) {
      problems.push_back(absl::StrCat("bucket ", name, " with ", bucket.size(), " references was lost"));
      continue;
    }
    for (const auto& [reference_name, reference] : bucket) {
      const auto shown = found->second.find(reference_name);
      if (shown == found->second.end()) {
        problems.push_back(absl::StrCat(name, "/", reference_name, " was lost, put by ", reference.serial));
      } else if (shown->second != reference) {
        problems.push_back(
            absl::StrCat(name, "/", reference_name, " is what ", shown->second.serial, " put, not ", reference.serial));
      }
    }
  }
  for (const auto& [name, bucket] : seen) {
    const auto known = buckets_.find(name);
    if (known == buckets_.end()) {
      problems.push_back(absl::StrCat("bucket ", name, " shows, and should not exist"));
      continue;
    }
    for (const auto& [reference_name, reference] : bucket) {
      if (known->second.contains(reference_name)) continue;
      problems.push_back(absl::StrCat(name, "/", reference_name, " shows, and should not: put by ", reference.serial));
    }
  }
}

void Model::CompareContent(BlobStore& store, std::vector<std::string>& problems) const {
  // Each content once, by one of its names; the other names are known to say the same digest.
  std::set<ContentId> read;
  for (const auto& [name, bucket] : buckets_) {
    for (const auto& [reference_name, reference] : bucket) {
      if (!read.insert(reference.content).second) continue;
      absl::Status status = CompareRange(store, contents_, {name, reference_name}, {});
      if (!status.ok())
        problems.push_back(absl::StrCat("reading ", name, "/", reference_name, ": ", status.ToString()));
    }
  }
  VerifyObserver observer;
  observer.finding = [&](const VerifyFinding& finding) {
    problems.push_back(absl::StrCat("verify: ", finding.problem));
  };
  uint64_t blobs_checked = 0;
  observer.progress = [&](const VerifyProgress& progress) {
    blobs_checked = progress.blobs_checked;
    return true;
  };
  const absl::Status verified = store.VerifyAll(observer);
  if (!verified.ok()) problems.push_back(absl::StrCat("verify: ", verified.ToString()));
  const uint64_t blobs = store.GetStatus().totals.blobs;
  if (blobs_checked != blobs) {
    problems.push_back(absl::StrCat("verify saw ", blobs_checked, " blobs, and the totals say ", blobs));
  }
}

void Model::CompareTotals(BlobStore& store, bool is_collected, std::vector<std::string>& problems) const {
  uint64_t references = 0;
  uint64_t referenced_bytes = 0;
  uint64_t content_bytes = 0;
  std::set<ContentId> referenced;
  for (const auto& [name, bucket] : buckets_) {
    for (const auto& [reference_name, reference] : bucket) {
      ++references;
      referenced_bytes += contents_.size_bytes(reference.content);
      if (referenced.insert(reference.content).second) content_bytes += contents_.size_bytes(reference.content);
    }
  }
  const EngineStatus status = store.GetStatus();
  const auto compare = [&](const char* what, uint64_t counted, uint64_t expected, bool may_be_more) {
    if (counted == expected || (may_be_more && counted > expected)) return;
    problems.push_back(absl::StrCat("the totals count ", counted, " ", what, ", not ", expected));
  };
  compare("buckets", status.totals.buckets, buckets_.size(), false);
  compare("references", status.totals.references, references, false);
  compare("referenced bytes", status.totals.referenced_bytes, referenced_bytes, false);
  compare("blobs", status.totals.blobs, referenced.size(), !is_collected);
  compare("bytes of content", status.totals.content_bytes, content_bytes, !is_collected);
  compare("bytes in staging", status.staging_bytes, 0, false);
}

void Model::CompareDeleted(BlobStore& store, std::vector<std::string>& problems) const {
  for (const auto& [name, bucket] : buckets_) {
    for (int i = 0; i < Script::Mix().names; ++i) {
      const std::string reference_name = absl::StrCat("name-", i);
      const absl::Status status = store.Resolve(name, reference_name).status();
      const bool exists = bucket.contains(reference_name);
      if (exists ? status.ok() : absl::IsNotFound(status)) continue;
      problems.push_back(absl::StrCat("resolving ", name, "/", reference_name, ": ", status.ToString()));
    }
  }
}

std::vector<std::string> Model::Check(BlobStore& store, bool is_collected) {
  std::lock_guard lock(mutex_);
  std::vector<std::string> problems;
  absl::StatusOr<Buckets> seen = Observe(store);
  if (!seen.ok()) return {absl::StrCat("listing: ", seen.status().ToString())};
  SettleUnderWay(*seen, problems);
  CompareNames(*seen, problems);
  CompareDeleted(store, problems);
  CompareTotals(store, is_collected, problems);
  CompareContent(store, problems);
  if (problems.size() > kMaxProblems) {
    const size_t others = problems.size() - kMaxProblems;
    problems.resize(kMaxProblems);
    problems.push_back(absl::StrCat("and ", others, " more"));
  }
  return problems;
}

}  // namespace coffer::faults
