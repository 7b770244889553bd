// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/operation.h"

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"

namespace coffer::faults {
namespace {

using Kind = Operation::Kind;

constexpr int kBuckets = 2;
// Of one batch or one delete.
constexpr size_t kMaxItems = 6;
// What an upload gets at once.
constexpr size_t kAppendBytes = 300 * 1000;

size_t Below(std::mt19937_64& random, size_t limit) {
  return std::uniform_int_distribution<size_t>(0, limit - 1)(random);
}

Kind AnyKind(std::mt19937_64& random) {
  const size_t percent = Below(random, 100);
  if (percent < 45) return Kind::kPut;
  if (percent < 60) return Kind::kPutBatch;
  if (percent < 67) return Kind::kBind;
  if (percent < 70) return Kind::kAbandonedPut;
  if (percent < 84) return Kind::kDelete;
  if (percent < 86) return Kind::kCreateBucket;
  if (percent < 90) return Kind::kDeleteBucket;
  if (percent < 95) return Kind::kCollect;
  return Kind::kGet;
}

UploadOptions OptionsOf(const Operation& operation, const Operation::Item& item) {
  UploadOptions options;
  options.bucket = operation.bucket;
  options.name = item.name;
  options.metadata = {{kSerialKey, operation.serial}};
  return options;
}

absl::Status Put(BlobStore& store, const Contents& contents, const Operation& operation) {
  const Operation::Item& item = operation.items.front();
  absl::StatusOr<std::unique_ptr<Upload>> upload = store.BeginUpload(OptionsOf(operation, item));
  if (!upload.ok()) return upload.status();
  const absl::string_view bytes = contents.bytes(item.content);
  for (size_t at = 0; at < bytes.size(); at += kAppendBytes) {
    if (absl::Status status = (*upload)->Append(bytes.substr(at, kAppendBytes)); !status.ok()) return status;
  }
  if (operation.kind == Kind::kAbandonedPut) return absl::OkStatus();
  absl::StatusOr<PutResult> put = (*upload)->Commit();
  if (!put.ok()) return put.status();
  if (put->digest != contents.digest(item.content)) return absl::DataLossError("a put answered another digest");
  return absl::OkStatus();
}

absl::Status PutBatch(BlobStore& store, const Contents& contents, const Operation& operation) {
  std::vector<BatchItem> items;
  for (const Operation::Item& item : operation.items) {
    items.push_back({OptionsOf(operation, item), contents.bytes(item.content)});
  }
  for (const absl::StatusOr<PutResult>& put : store.PutBatch(items)) {
    if (!put.ok()) return put.status();
  }
  return absl::OkStatus();
}

absl::Status Delete(BlobStore& store, const Operation& operation) {
  std::vector<std::string> names;
  for (const Operation::Item& item : operation.items) names.push_back(item.name);
  return store.Delete(operation.bucket, names).status();
}

}  // namespace

BlobStore::Options StoreOptions() {
  BlobStore::Options options;
  options.grace = absl::ZeroDuration();
  return options;
}

absl::Status CompareRange(BlobStore& store, const Contents& contents, const BlobSelector& blob, ByteRange range) {
  absl::StatusOr<std::unique_ptr<BlobReader>> reader = store.Open(blob, range);
  if (!reader.ok()) return reader.status();
  const std::optional<ContentId> content = contents.Find((*reader)->digest());
  if (!content.has_value()) {
    return absl::DataLossError(absl::StrCat((*reader)->digest().ToHex(), " was never put"));
  }
  const absl::string_view expected = absl::string_view(contents.bytes(*content))
                                         .substr((*reader)->range().offset_bytes, (*reader)->range().length_bytes);
  std::string buffer(256 * 1024, '\0');
  size_t at = 0;
  while (true) {
    absl::StatusOr<size_t> got = (*reader)->Read(absl::MakeSpan(buffer.data(), buffer.size()));
    if (!got.ok()) return got.status();
    if (*got == 0) break;
    if (expected.substr(at, *got) != absl::string_view(buffer.data(), *got)) {
      return absl::DataLossError(absl::StrCat((*reader)->digest().ToHex(), " differs after byte ", at));
    }
    at += *got;
  }
  if (at == expected.size()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat((*reader)->digest().ToHex(), " ends at ", at, " of ", expected.size()));
}

std::vector<std::string> Script::BucketsOf(int thread) {
  std::vector<std::string> buckets;
  for (int i = 0; i < kBuckets; ++i) buckets.push_back(absl::StrCat("thread-", thread, "-", i));
  return buckets;
}

Operation Script::At(int thread, uint64_t index) const {
  std::seed_seq mixed{seed_, seed_ >> 32, uint64_t(thread), index};
  std::mt19937_64 random(mixed);
  Operation operation;
  operation.kind = AnyKind(random);
  operation.bucket = BucketsOf(thread)[Below(random, kBuckets)];
  operation.serial = absl::StrCat(seed_, "/", thread, "/", index);
  const auto any_name = [&] { return absl::StrCat("name-", Below(random, mix_.names)); };
  const auto any_content = [&] {
    return Below(random, 100) < size_t(mix_.huge_percent) ? contents_.Huge(random) : contents_.Any(random);
  };
  switch (operation.kind) {
    case Kind::kPut:
    case Kind::kAbandonedPut:
    case Kind::kBind: {
      const ContentId content = any_content();
      // The name that a blob without one gets.
      const bool by_digest = Below(random, 10) == 0;
      operation.items.push_back({by_digest ? contents_.digest(content).ToHex() : any_name(), content});
      break;
    }
    case Kind::kPutBatch:
    case Kind::kDelete: {
      std::set<std::string> names;
      const size_t count = 1 + Below(random, kMaxItems);
      for (size_t i = 0; i < count; ++i) names.insert(any_name());
      for (const std::string& name : names) operation.items.push_back({name, contents_.Small(random)});
      if (operation.kind == Kind::kDelete && Below(random, 4) == 0) {
        operation.items.push_back({contents_.digest(any_content()).ToHex(), 0});
      }
      break;
    }
    case Kind::kGet:
      operation.items.push_back({any_name(), 0});
      if (Below(random, 2) == 0) operation.range = {Below(random, 100 * 1000), Below(random, 100 * 1000)};
      break;
    case Kind::kCreateBucket:
    case Kind::kDeleteBucket:
    case Kind::kCollect:
      break;
  }
  return operation;
}

absl::Status Perform(BlobStore& store, const Contents& contents, const Operation& operation) {
  switch (operation.kind) {
    case Kind::kPut:
    case Kind::kAbandonedPut:
      return Put(store, contents, operation);
    case Kind::kPutBatch:
      return PutBatch(store, contents, operation);
    case Kind::kBind: {
      const Operation::Item& item = operation.items.front();
      return store.Bind(operation.bucket, item.name, contents.digest(item.content), {{kSerialKey, operation.serial}})
          .status();
    }
    case Kind::kDelete:
      return Delete(store, operation);
    case Kind::kCreateBucket:
      return store.CreateBucket(operation.bucket).status();
    case Kind::kDeleteBucket:
      return store.DeleteBucket(operation.bucket).status();
    case Kind::kCollect:
      return store.Collect(false).status();
    case Kind::kGet: {
      const absl::Status status =
          CompareRange(store, contents, {operation.bucket, operation.items.front().name}, operation.range);
      // The range starts behind the end.
      return absl::IsInvalidArgument(status) ? absl::OkStatus() : status;
    }
  }
  return absl::InternalError("an operation of no kind");
}

std::string Describe(const Operation& operation, const Contents& contents) {
  static constexpr const char* kKinds[] = {"put",           "put batch",     "bind", "abandoned put", "delete",
                                           "create bucket", "delete bucket", "get",  "collect"};
  std::string text = absl::StrCat(kKinds[static_cast<int>(operation.kind)], " in ", operation.bucket, ":");
  for (const Operation::Item& item : operation.items) {
    absl::StrAppend(&text, " ", item.name.substr(0, 12));
    if (operation.kind <= Kind::kAbandonedPut)
      absl::StrAppend(&text, " (", contents.size_bytes(item.content), " bytes)");
  }
  return text;
}

}  // namespace coffer::faults
