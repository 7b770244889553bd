// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/contract_suite.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hashing/bytes.h"
#include "hashing/subtree.h"
#include "storage/layout.h"

namespace coffer {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContract);

absl::StatusOr<std::string> ReadAll(OpenRead& read, size_t piece_bytes) {
  std::string all;
  while (true) {
    absl::StatusOr<std::string> piece = read.Next(piece_bytes);
    if (!piece.ok()) return piece.status();
    if (piece->empty()) return all;
    all += *piece;
  }
}

BlobSelector Named(const std::string& bucket, const std::string& name) { return {bucket, name}; }
BlobSelector ByDigest(const Digest& digest) { return {"", digest}; }

namespace {

// Sizes around every border of groups, rows, segments, inline and gathered content.
std::vector<size_t> BorderSizes() {
  std::vector<size_t> sizes = {0, 1, 4, 1024, 4096, 11000, 131072, 12582912};
  for (size_t border :
       {kGroupBytes, 2 * kGroupBytes, kRowBytes, kSegmentBytes, 2 * kSegmentBytes, size_t{8} * kSegmentBytes}) {
    for (int delta : {-1, 0, 1}) sizes.push_back(border + delta);
  }
  sizes.push_back(33 * kGroupBytes);
  sizes.push_back(3 * kSegmentBytes + kGroupBytes);
  return sizes;
}

}  // namespace

absl::StatusOr<PutResult> StoreContract::Put(const std::string& bucket, const std::string& name,
                                             const std::string& content, const Metadata& metadata) {
  StoreUnderTest::PutCall call;
  call.options.bucket = bucket;
  call.options.name = name;
  call.options.metadata = metadata;
  return store_->Put(call, content);
}

absl::StatusOr<std::string> StoreContract::Get(const BlobSelector& blob, ByteRange range) {
  absl::StatusOr<std::unique_ptr<OpenRead>> read = store_->Open(blob, range);
  if (!read.ok()) return read.status();
  return ReadAll(**read);
}

absl::StatusOr<std::string> StoreContract::Get(const std::string& bucket, const std::string& name) {
  return Get(Named(bucket, name));
}

TEST_P(StoreContract, ReturnsEverySizeAsItWasPut) {
  for (const size_t size : BorderSizes()) {
    const std::string content = RandomBytes(size, size);
    const std::string name = absl::StrCat("size-", size);
    absl::StatusOr<PutResult> put = Put("sizes", name, content);
    ASSERT_TRUE(put.ok()) << size << put.status();
    EXPECT_EQ(put->digest, DigestOf(content)) << size;
    EXPECT_EQ(put->size_bytes, size);
    EXPECT_EQ(put->name, name);
    absl::StatusOr<std::string> got = Get("sizes", name);
    ASSERT_TRUE(got.ok()) << size << got.status();
    EXPECT_TRUE(*got == content) << size;
  }
  absl::StatusOr<std::vector<VerifyFinding>> findings = store_->VerifyAll();
  ASSERT_TRUE(findings.ok()) << findings.status();
  EXPECT_TRUE(findings->empty());
}

TEST_P(StoreContract, TakesPiecesOfAnySize) {
  const std::string content = RandomBytes(3 * kSegmentBytes + 12345, 1);
  for (const size_t piece : {size_t{1000}, size_t{61440}, size_t{65537}, content.size()}) {
    StoreUnderTest::PutCall call;
    call.options.name = absl::StrCat("pieces-", piece);
    call.piece_bytes = piece;
    absl::StatusOr<PutResult> put = store_->Put(call, content);
    ASSERT_TRUE(put.ok()) << put.status();
    EXPECT_EQ(put->digest, DigestOf(content)) << piece;
  }
}

TEST_P(StoreContract, ABatchIsPutAndGotAsItsBlobsOneByOne) {
  const size_t sizes[] = {
      0, 1, 1000, 1024, 1025, kGroupBytes, kGroupBytes + 1, kRowBytes, 3 * kRowBytes + 1, kSegmentBytes};
  std::vector<std::string> contents;
  for (const size_t size : sizes) contents.push_back(RandomBytes(size, size));
  for (int i = 0; i < 200; ++i) contents.push_back(RandomBytes(37 * i % 4000, 1000 + i));
  contents.push_back(contents[3]);  // known by then, within its own batch
  std::vector<BatchItem> items;
  std::vector<BlobSelector> selectors;
  for (size_t i = 0; i < contents.size(); ++i) {
    UploadOptions options;
    options.bucket = "batch";
    options.name = absl::StrCat("item-", i);
    items.push_back({options, contents[i]});
    selectors.push_back(Named("batch", options.name));
  }
  const std::vector<absl::StatusOr<PutResult>> put = store_->PutBatch(items);
  ASSERT_EQ(put.size(), items.size());
  for (size_t i = 0; i < put.size(); ++i) {
    ASSERT_TRUE(put[i].ok()) << i << put[i].status();
    EXPECT_EQ(put[i]->digest, DigestOf(contents[i])) << i;
    EXPECT_EQ(put[i]->size_bytes, contents[i].size());
    EXPECT_TRUE(Get("batch", put[i]->name).value_or("?") == contents[i]) << i;
  }
  EXPECT_FALSE(put[3]->deduplicated);
  EXPECT_TRUE(put.back()->deduplicated);
  const std::vector<absl::StatusOr<BatchBlob>> got = store_->GetBatch(selectors);
  ASSERT_EQ(got.size(), selectors.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(got[i].ok()) << i << got[i].status();
    EXPECT_TRUE(got[i]->content == contents[i]) << i;
    EXPECT_EQ(got[i]->digest, DigestOf(contents[i])) << i;
  }
  EXPECT_TRUE(store_->VerifyAll()->empty());
}

TEST_P(StoreContract, InABatchEachFailsOnItsOwn) {
  ASSERT_TRUE(Put("batch", "there", "there").ok());
  std::vector<BatchItem> items(4);
  for (BatchItem& item : items) item.content = "content";
  items[0].options.name = std::string(1025, 'n');
  items[1].options.expected_digest = DigestOf("another");
  items[2].options.declared_size_bytes = 6;
  items[3].options.name = "good";
  const std::vector<absl::StatusOr<PutResult>> put = store_->PutBatch(items);
  ASSERT_EQ(put.size(), 4u);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(absl::IsInvalidArgument(put[i].status())) << put[i].status();
  EXPECT_TRUE(put[3].ok()) << put[3].status();
  EXPECT_EQ(store_->List("", "", "", 0)->references.size(), 1u);
  const std::vector<absl::StatusOr<BatchBlob>> got =
      store_->GetBatch({Named("batch", "absent"), Named("batch", "there"), ByDigest(DigestOf("absent"))});
  ASSERT_EQ(got.size(), 3u);
  EXPECT_TRUE(absl::IsNotFound(got[0].status()));
  EXPECT_EQ(got[1]->content, "there");
  EXPECT_TRUE(absl::IsNotFound(got[2].status()));
}

TEST_P(StoreContract, BatchesHaveLimits) {
  const std::string large = RandomBytes(kSegmentBytes, 1);
  std::vector<BatchItem> heavy(4, BatchItem{{}, absl::string_view(large).substr(0, kSegmentBytes - 1000)});
  const std::vector<absl::StatusOr<PutResult>> too_heavy = store_->PutBatch(heavy);
  EXPECT_FALSE(too_heavy.front().ok());
  const std::vector<absl::StatusOr<PutResult>> too_many = store_->PutBatch(std::vector<BatchItem>(1025));
  EXPECT_TRUE(absl::IsInvalidArgument(too_many.front().status())) << too_many.front().status();
  const absl::Status many = store_->GetBatch(std::vector<BlobSelector>(1025, Named("", "a"))).front().status();
  EXPECT_TRUE(absl::IsInvalidArgument(many)) << many;
  EXPECT_TRUE(absl::StrContains(many.message(), "1024")) << many;
  // A get whose answers would be too large answers for what fits.
  ASSERT_TRUE(Put("", "large", large).ok());
  const std::vector<absl::StatusOr<BatchBlob>> got = store_->GetBatch(std::vector<BlobSelector>(4, Named("", "large")));
  ASSERT_EQ(got.size(), 4u);
  EXPECT_TRUE(got[2].ok()) << got[2].status();
  EXPECT_TRUE(absl::IsResourceExhausted(got[3].status())) << got[3].status();
}

TEST_P(StoreContract, ReadsExactRanges) {
  const std::string content = RandomBytes(2 * kSegmentBytes + 777, 2);
  ASSERT_TRUE(Put("", "ranged", content).ok());
  const uint64_t size = content.size();
  std::vector<ByteRange> ranges = {{0, 1},
                                   {size - 1, 1},
                                   {size, 0},
                                   {0, size + 5},
                                   {kGroupBytes - 1, 2},
                                   {kRowBytes - 1, 2},
                                   {kSegmentBytes - 1, kRowBytes + 2},
                                   {size - 700, 0}};
  std::mt19937_64 random(3);
  for (int i = 0; i < 50; ++i) {
    const uint64_t offset = random() % size;
    ranges.push_back({offset, 1 + random() % (size - offset)});
  }
  for (const ByteRange& range : ranges) {
    absl::StatusOr<std::string> got = Get(Named("", "ranged"), range);
    ASSERT_TRUE(got.ok()) << got.status();
    const std::string expected =
        content.substr(range.offset_bytes, range.length_bytes == 0 ? std::string::npos : range.length_bytes);
    EXPECT_TRUE(*got == expected) << range.offset_bytes << "+" << range.length_bytes;
  }
  const absl::Status behind = Get(Named("", "ranged"), {size + 1, 0}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(behind)) << behind;
  EXPECT_TRUE(absl::StrContains(behind.message(), absl::StrCat(size + 1))) << behind;
}

TEST_P(StoreContract, NamesAreTheDigestIfNoneIsGiven) {
  const std::string content = "Dear reader,\n";
  absl::StatusOr<PutResult> put = Put("", "", content);
  ASSERT_TRUE(put.ok()) << put.status();
  EXPECT_EQ(put->name, DigestOf(content).ToHex());
  EXPECT_EQ(Get(ByDigest(put->digest)).value_or("missing"), content);
  EXPECT_EQ(Get("default", put->name).value_or("missing"), content);
  ASSERT_TRUE(Put("", DigestOf(content).ToHex(), content).ok());
  const absl::Status foreign = Put("", DigestOf("other").ToHex(), content).status();
  EXPECT_TRUE(absl::IsInvalidArgument(foreign)) << foreign;
  const absl::Status bound = store_->Bind("", DigestOf("other").ToHex(), put->digest, {}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(bound)) << bound;
}

TEST_P(StoreContract, MissingIsNotFound) {
  ASSERT_TRUE(store_->CreateBucket("present").ok());
  EXPECT_TRUE(absl::IsNotFound(Get("present", "absent").status()));
  EXPECT_TRUE(absl::IsNotFound(Get("absent", "absent").status()));
  EXPECT_TRUE(absl::IsNotFound(Get(ByDigest(DigestOf("absent"))).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Stat(Named("present", "absent")).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Stat(ByDigest(DigestOf("absent"))).status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Resolve("absent", "absent").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->List("absent", "", "", 0).status()));
  const absl::Status bound = store_->Bind("present", "name", DigestOf("absent"), {}).status();
  EXPECT_TRUE(absl::IsNotFound(bound)) << bound;
  EXPECT_TRUE(absl::StrContains(bound.message(), DigestOf("absent").ToHex()));
}

TEST_P(StoreContract, KeepsOneCopyOfEqualContent) {
  const std::string small = RandomBytes(11000, 4);
  const std::string large = RandomBytes(12582912, 5);
  for (const std::string& content : {small, large}) {
    const EngineTotals before = store_->GetStatus().totals;
    absl::StatusOr<PutResult> first = Put("a", absl::StrCat("one-", content.size()), content);
    absl::StatusOr<PutResult> second = Put("b", absl::StrCat("two-", content.size()), content);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_FALSE(first->deduplicated);
    EXPECT_TRUE(second->deduplicated);
    const EngineTotals after = store_->GetStatus().totals;
    EXPECT_EQ(after.blobs, before.blobs + 1);
    EXPECT_EQ(after.content_bytes, before.content_bytes + content.size());
    EXPECT_EQ(after.references, before.references + 2);
    EXPECT_EQ(after.referenced_bytes, before.referenced_bytes + 2 * content.size());
    EXPECT_TRUE(Get("b", second->name).value_or("") == content);
  }
}

TEST_P(StoreContract, RefusesLiesAndShowsNothingOfThem) {
  const std::string content = RandomBytes(9 * kSegmentBytes, 6);
  StoreUnderTest::PutCall call;
  call.options.name = "lie";
  call.options.expected_digest = DigestOf("something else");
  const absl::Status digest = store_->Put(call, content).status();
  EXPECT_TRUE(absl::IsInvalidArgument(digest)) << digest;
  EXPECT_TRUE(absl::StrContains(digest.message(), DigestOf(content).ToHex())) << digest;
  call.options.expected_digest.reset();
  for (const size_t declared : {content.size() - 1, content.size() + 1, size_t{1}}) {
    call.options.declared_size_bytes = declared;
    const absl::Status size = store_->Put(call, content).status();
    EXPECT_TRUE(absl::IsInvalidArgument(size)) << size;
    EXPECT_TRUE(absl::StrContains(size.message(), absl::StrCat(declared))) << size;
  }
  EXPECT_TRUE(absl::IsNotFound(store_->Resolve("", "lie").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->Stat(ByDigest(DigestOf(content))).status()));
  EXPECT_EQ(store_->GetStatus().staging_bytes, 0u);
  call.options.declared_size_bytes = content.size();
  call.options.expected_digest = DigestOf(content);
  EXPECT_TRUE(store_->Put(call, content).ok());
}

TEST_P(StoreContract, ASourceThatFailsLeavesTheOldValue) {
  ASSERT_TRUE(Put("mail", "message", "the old value").ok());
  for (const size_t fail_after : {size_t{5}, size_t{10} * kSegmentBytes}) {
    StoreUnderTest::PutCall call;
    call.options.bucket = "mail";
    call.options.name = "message";
    call.fail_after_bytes = fail_after;
    EXPECT_FALSE(store_->Put(call, RandomBytes(12582912, 7)).ok());
    EXPECT_EQ(Get("mail", "message").value_or(""), "the old value");
  }
  // Over the wire the server notices a little later than the client.
  for (int i = 0; i < 500 && store_->GetStatus().staging_bytes > 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(store_->GetStatus().staging_bytes, 0u);
}

}  // namespace coffer
