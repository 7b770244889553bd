// SPDX-License-Identifier: Apache-2.0
#include "storage/batch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "hashing/batch_hasher.h"
#include "hashing/bytes.h"
#include "hashing/tree_hasher.h"
#include "storage/layout.h"
#include "storage/tree_walk.h"

namespace coffer {
namespace {

// Blobs of more than one chunk group need their outboard, which the batch hasher does not make.
bool FitsInALane(size_t size_bytes) { return size_bytes <= kGroupBytes; }

// The digests of `contents`, those of one chunk group side by side; for larger ones their pieces as well.
class HashedBatch {
 public:
  explicit HashedBatch(absl::Span<const BatchItem> items) : digests_(items.size()), pieces_(items.size()) {
    std::vector<size_t> small;
    std::vector<ByteSpan> spans;
    for (size_t i = 0; i < items.size(); ++i) {
      const absl::string_view content = items[i].content;
      if (FitsInALane(content.size())) {
        small.push_back(i);
        spans.push_back(BytesOf(content));
      } else {
        HashLarge(i, content);
      }
    }
    std::vector<Digest> found(small.size());
    HashBatch(spans, absl::MakeSpan(found));
    for (size_t i = 0; i < small.size(); ++i) digests_[small[i]] = found[i];
  }

  const Digest& digest(size_t i) const { return digests_[i]; }

  WholeBlob Whole(size_t i, absl::string_view content, Reference reference) const {
    WholeBlob blob{std::move(reference), {}};
    for (const auto& [id, bytes] : pieces_[i]) blob.pieces.push_back({id, bytes});
    if (pieces_[i].empty() && !content.empty()) blob.pieces.push_back({RowId(0), content});
    return blob;
  }

 private:
  void HashLarge(size_t i, absl::string_view content) {
    PieceBuilder builder;
    TreeHasher hasher(nullptr, [&](int height, const ParentNode& node) { builder.AddParent(height, node); });
    builder.AddBytes(content);
    hasher.Append(BytesOf(content));
    digests_[i] = hasher.Finish();
    const auto keep = [&](const PieceId& id, absl::string_view bytes) {
      pieces_[i].emplace_back(id, bytes);
      return absl::OkStatus();
    };
    // The only errors are those of `keep`, which has none.
    builder.TakeRest(keep).IgnoreError();
  }

  std::vector<Digest> digests_;
  std::vector<std::vector<std::pair<PieceId, std::string>>> pieces_;
};

// The whole content of a blob, not verified: that is done for all of a batch at once.
absl::StatusOr<std::string> ReadOnlyRow(OpenedBlob& blob) {
  if (blob.content->size_bytes() == 0) return "";
  absl::StatusOr<absl::string_view> row = blob.content->Read(RowId(0));
  if (!row.ok()) return row.status();
  return std::string(*row);
}

absl::StatusOr<std::string> ReadVerified(OpenedBlob& blob) {
  TreeWalk walk(blob.digest, *blob.content);
  std::string content;
  for (uint64_t row = 0; row * kRowBytes < blob.content->size_bytes(); ++row) {
    absl::StatusOr<absl::string_view> bytes = walk.Row(row);
    if (!bytes.ok()) return bytes.status();
    content.append(bytes->data(), bytes->size());
  }
  return content;
}

}  // namespace

std::vector<absl::StatusOr<PutResult>> PutBatch(Engine& engine, absl::Span<const BatchItem> items, absl::Time now) {
  const HashedBatch hashed(items);
  std::vector<absl::StatusOr<PutResult>> results(items.size(), absl::UnknownError(""));
  std::vector<WholeBlob> blobs;
  std::vector<size_t> blob_items;
  for (size_t i = 0; i < items.size(); ++i) {
    UploadOptions options = items[i].options;
    absl::Status status = NormaliseClaims(options, kMaxBatchBytes);
    if (status.ok()) {
      absl::StatusOr<Reference> reference = ReferenceFor(options, hashed.digest(i), items[i].content.size(), now);
      status = reference.status();
      if (status.ok()) {
        blobs.push_back(hashed.Whole(i, items[i].content, *std::move(reference)));
        blob_items.push_back(i);
      }
    }
    if (!status.ok()) results[i] = status;
  }
  if (blobs.empty()) return results;
  const absl::StatusOr<std::vector<bool>> deduplicated = engine.PublishAll(blobs);
  for (size_t i = 0; i < blobs.size(); ++i) {
    absl::StatusOr<PutResult>& result = results[blob_items[i]];
    if (deduplicated.ok()) {
      Reference& reference = blobs[i].reference;
      result = PutResult{reference.digest, reference.size_bytes, (*deduplicated)[i], std::move(reference.name)};
    } else {
      result = deduplicated.status();
    }
  }
  return results;
}

std::vector<absl::StatusOr<BatchBlob>> GetBatch(size_t count,
                                                absl::FunctionRef<absl::StatusOr<OpenedBlob>(size_t)> open) {
  std::vector<absl::StatusOr<BatchBlob>> results;
  std::vector<size_t> unproven;
  size_t total_bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    absl::StatusOr<OpenedBlob> blob = open(i);
    if (!blob.ok()) {
      results.push_back(blob.status());
      continue;
    }
    const uint64_t size_bytes = blob->content->size_bytes();
    if (size_bytes > kMaxBatchBytes - total_bytes) {
      results.push_back(absl::ResourceExhaustedError(absl::StrCat(
          "blob ", blob->digest.ToHex(), " of ", size_bytes, " bytes would bring the answer above ", kMaxBatchBytes,
          " bytes: ", size_bytes > kMaxBatchBytes ? "get it with Get" : "ask for it in another call")));
      continue;
    }
    absl::StatusOr<std::string> content;
    if (FitsInALane(size_bytes)) content = ReadOnlyRow(*blob);
    if (content.ok() && FitsInALane(size_bytes) && content->size() == size_bytes) {
      unproven.push_back(i);
    } else {
      content = ReadVerified(*blob);
    }
    if (content.ok()) {
      total_bytes += size_bytes;
      results.push_back(BatchBlob{blob->digest, *std::move(content)});
    } else {
      results.push_back(content.status());
    }
  }
  std::vector<ByteSpan> spans;
  for (const size_t i : unproven) spans.push_back(BytesOf(results[i]->content));
  std::vector<Digest> found(spans.size());
  HashBatch(spans, absl::MakeSpan(found));
  for (size_t i = 0; i < unproven.size(); ++i) {
    absl::StatusOr<BatchBlob>& result = results[unproven[i]];
    if (found[i] == result->digest) continue;
    // The walk meets the same damage and names the place.
    absl::StatusOr<OpenedBlob> blob = open(unproven[i]);
    absl::StatusOr<std::string> content = blob.ok() ? ReadVerified(*blob) : blob.status();
    if (content.ok()) {
      result = BatchBlob{blob->digest, *std::move(content)};
    } else {
      result = content.status();
    }
  }
  return results;
}

}  // namespace coffer
