// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/contract_suite.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "hashing/bytes.h"
#include "hashing/subtree.h"
#include "storage/layout.h"
#include "storage/names.h"

namespace coffer {

std::string RandomBytes(size_t size_bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(size_bytes + 8, '\0');
  for (size_t i = 0; i < size_bytes; i += 8) {
    const uint64_t word = random();
    std::memcpy(&bytes[i], &word, sizeof(word));
  }
  bytes.resize(size_bytes);
  return bytes;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContract);

namespace {

Digest DigestOf(const std::string& content) { return HashBlob(BytesOf(content)); }

absl::StatusOr<std::string> ReadAll(OpenRead& read, size_t piece_bytes = 200 * 1000) {
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

// Sizes around every border of groups, rows, segments, inline and gathered content.
std::vector<size_t> BorderSizes() {
  std::vector<size_t> sizes = {0, 1, 4, 1024, 4096, 11000, 131072, 12582912};
  for (size_t border : {kGroupBytes, 2 * kGroupBytes, kRowBytes, kSegmentBytes, 2 * kSegmentBytes,
                        size_t{8} * kSegmentBytes}) {
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
  const size_t sizes[] = {0, 1, 1000, 1024, 1025, kGroupBytes, kGroupBytes + 1, kRowBytes, 3 * kRowBytes + 1, kSegmentBytes};
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
  std::vector<ByteRange> ranges = {{0, 1}, {size - 1, 1}, {size, 0}, {0, size + 5}, {kGroupBytes - 1, 2},
                                   {kRowBytes - 1, 2}, {kSegmentBytes - 1, kRowBytes + 2}, {size - 700, 0}};
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

TEST_P(StoreContract, OverwritingSwapsTheReference) {
  ASSERT_TRUE(Put("mail", "swap", "first", {{"subject", "one"}}).ok());
  ASSERT_TRUE(Put("mail", "swap", "second, longer", {{"from", "two"}}).ok());
  EXPECT_EQ(Get("mail", "swap").value_or(""), "second, longer");
  absl::StatusOr<Reference> reference = store_->Resolve("mail", "swap");
  ASSERT_TRUE(reference.ok());
  EXPECT_EQ(reference->size_bytes, 14u);
  EXPECT_EQ(reference->metadata, (Metadata{{"from", "two"}}));
  const EngineTotals totals = store_->GetStatus().totals;
  EXPECT_EQ(totals.references, 1u);
  EXPECT_EQ(totals.referenced_bytes, 14u);
  // And back again, which finds its content still there.
  ASSERT_TRUE(Put("mail", "swap", "first").ok());
  EXPECT_EQ(Get("mail", "swap").value_or(""), "first");
}

TEST_P(StoreContract, MetadataIsReplacedAndEmptyStaysEmpty) {
  ASSERT_TRUE(Put("mail", "meta", "same bytes", {{"Content-Type", "text/plain"}, {"x.y_z-1", "µ"}}).ok());
  EXPECT_EQ(store_->Resolve("mail", "meta")->metadata,
            (Metadata{{"content-type", "text/plain"}, {"x.y_z-1", "µ"}}));
  ASSERT_TRUE(Put("mail", "meta", "same bytes", {{"other", ""}}).ok());
  EXPECT_EQ(store_->Resolve("mail", "meta")->metadata, (Metadata{{"other", ""}}));
  ASSERT_TRUE(Put("mail", "meta", "same bytes").ok());
  EXPECT_TRUE(store_->Resolve("mail", "meta")->metadata.empty());
}

TEST_P(StoreContract, BindNamesStoredContent) {
  const std::string content = RandomBytes(100000, 8);
  absl::StatusOr<PutResult> put = Put("a", "original", content);
  ASSERT_TRUE(put.ok());
  absl::StatusOr<Reference> bound = store_->Bind("b", "copy", put->digest, {{"k", "v"}});
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(bound->size_bytes, content.size());
  EXPECT_TRUE(Get("b", "copy").value_or("") == content);
  EXPECT_EQ(store_->Stat(Named("b", "copy"))->reference->metadata, (Metadata{{"k", "v"}}));
  absl::StatusOr<Reference> unnamed = store_->Bind("b", "", put->digest, {});
  ASSERT_TRUE(unnamed.ok());
  EXPECT_EQ(unnamed->name, put->digest.ToHex());
}

TEST_P(StoreContract, DeletesAreIdempotent) {
  ASSERT_TRUE(Put("mail", "one", "1").ok());
  ASSERT_TRUE(Put("mail", "two", "2").ok());
  EXPECT_EQ(store_->Delete("mail", {"one", "absent", "two"}).value_or(99), 2u);
  EXPECT_EQ(store_->Delete("mail", {"one", "two"}).value_or(99), 0u);
  EXPECT_EQ(store_->Delete("absent", {"one"}).value_or(99), 0u);
  EXPECT_TRUE(absl::IsNotFound(Get("mail", "one").status()));
  // A bucket whose last blob is gone is still there.
  EXPECT_EQ(store_->ListBuckets("", 0)->buckets.size(), 1u);
  EXPECT_EQ(store_->GetStatus().totals.references, 0u);
  EXPECT_EQ(store_->GetStatus().totals.referenced_bytes, 0u);
  // Deleting twice in one call counts once, and the name can be used again.
  ASSERT_TRUE(Put("mail", "one", "1 again").ok());
  EXPECT_EQ(store_->Delete("mail", {"one", "one"}).value_or(99), 1u);
  ASSERT_TRUE(Put("mail", "one", "1").ok());
  EXPECT_EQ(Get("mail", "one").value_or(""), "1");
}

TEST_P(StoreContract, BucketsAreIsolatedAndDeletedWhole) {
  for (int i = 0; i < 1500; ++i) {
    ASSERT_TRUE(Put("month", absl::StrFormat("%04d", i), absl::StrCat("mail ", i)).ok());
  }
  ASSERT_TRUE(Put("other", "0001", "elsewhere").ok());
  EXPECT_EQ(store_->DeleteBucket("month").value_or(false), true);
  EXPECT_EQ(store_->DeleteBucket("month").value_or(true), false);
  EXPECT_TRUE(absl::IsNotFound(Get("month", "0001").status()));
  EXPECT_TRUE(absl::IsNotFound(store_->List("month", "", "", 0).status()));
  EXPECT_EQ(Get("other", "0001").value_or(""), "elsewhere");
  EXPECT_EQ(store_->GetStatus().totals.buckets, 1u);
  EXPECT_EQ(store_->GetStatus().totals.references, 1u);
  // Made again it is empty.
  EXPECT_EQ(store_->CreateBucket("month").value_or(false), true);
  EXPECT_EQ(store_->CreateBucket("month").value_or(true), false);
  EXPECT_TRUE(store_->List("month", "", "", 0)->references.empty());
}

TEST_P(StoreContract, ListsByPrefixInPagesInByteOrder) {
  std::set<std::string> expected;
  for (int i = 0; i < 1500; ++i) expected.insert(absl::StrFormat("inbox/%04d", i));
  for (const std::string& name : expected) ASSERT_TRUE(Put("mail", name, name).ok());
  for (const char* name : {"inbo", "inbox", "inboy", "\xc3\xa9t\xc3\xa9", " leading space", "a\nb", "-dash", "../up"}) {
    ASSERT_TRUE(Put("mail", name, name).ok()) << name;
  }
  for (const uint32_t limit : {0u, 1u, 7u, 700u, 1500u, 10000u}) {
    std::set<std::string> found;
    std::string cursor;
    std::string last;
    do {
      absl::StatusOr<ReferencePage> page = store_->List("mail", "inbox/", cursor, limit);
      ASSERT_TRUE(page.ok()) << page.status();
      if (limit > 0) {
        ASSERT_LE(page->references.size(), limit);
      }
      for (const Reference& reference : page->references) {
        ASSERT_LT(last, reference.name);
        last = reference.name;
        found.insert(reference.name);
        EXPECT_EQ(reference.digest, DigestOf(reference.name));
      }
      cursor = page->next_cursor;
      if (limit == 1 && found.size() > 20) break;
    } while (!cursor.empty());
    if (limit != 1) {
      EXPECT_EQ(found, expected) << limit;
    }
  }
  EXPECT_EQ(store_->List("mail", "", "", 10000)->references.size(), expected.size() + 8);
  EXPECT_TRUE(store_->List("mail", "none", "", 0)->references.empty());
  EXPECT_TRUE(absl::IsInvalidArgument(store_->List("mail", "", "", 10001).status()));
}

TEST_P(StoreContract, ListsBucketsInPages) {
  for (const char* bucket : {"b", "a", "c", "a b", "caf\xc3\xa9"}) ASSERT_TRUE(store_->CreateBucket(bucket).ok());
  std::vector<std::string> found;
  std::string cursor;
  do {
    absl::StatusOr<BucketPage> page = store_->ListBuckets(cursor, 2);
    ASSERT_TRUE(page.ok());
    for (const Bucket& bucket : page->buckets) found.push_back(bucket.name);
    cursor = page->next_cursor;
  } while (!cursor.empty());
  EXPECT_EQ(found, (std::vector<std::string>{"a", "a b", "b", "c", "caf\xc3\xa9"}));
}

TEST_P(StoreContract, FindsWhatIsMissing) {
  ASSERT_TRUE(Put("", "", "here").ok());
  const Digest here = DigestOf("here");
  const Digest gone = DigestOf("gone");
  const Digest lost = DigestOf("lost");
  absl::StatusOr<std::vector<Digest>> missing = store_->FindMissing({lost, here, gone, lost});
  ASSERT_TRUE(missing.ok());
  EXPECT_EQ(*missing, (std::vector<Digest>{lost, gone}));
  EXPECT_TRUE(store_->FindMissing({})->empty());
}

TEST_P(StoreContract, RefusesBadNamesWithValueAndLimit) {
  const std::string long_name(1025, 'n');
  const std::string long_bucket(256, 'b');
  struct Case {
    std::string bucket;
    std::string name;
    std::string said;
  };
  const Case cases[] = {
      {"", long_name, "1024"},          {"", std::string("a\0b", 3), "NUL"}, {"", "\xff\xfe", "UTF-8"},
      {long_bucket, "name", "255"},     {"a/b", "name", "a/b"},             {"a\nb", "name", "control"},
      {"\xff", "name", "UTF-8"},
  };
  for (const Case& bad : cases) {
    const absl::Status status = Put(bad.bucket, bad.name, "content").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), bad.said)) << status;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Resolve("", "").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Delete("", {"fine", ""}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->DeleteBucket("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(store_->CreateBucket(long_bucket).status()));
  EXPECT_TRUE(Put(std::string(255, 'b'), std::string(1024, 'n'), "content").ok());
}

TEST_P(StoreContract, RefusesBadMetadata) {
  Metadata many;
  for (int i = 0; i < 65; ++i) many[absl::StrCat("k", i)] = "";
  Metadata large;
  for (int i = 0; i < 9; ++i) large[absl::StrCat("k", i)] = std::string(1000, 'v');
  for (const Metadata& bad :
       {Metadata{{"", "v"}}, Metadata{{"a b", "v"}}, Metadata{{std::string(129, 'k'), "v"}},
        Metadata{{"k", std::string(1025, 'v')}}, Metadata{{"k", "\xff"}}, Metadata{{"K", "1"}, {"k", "2"}}, many, large}) {
    const absl::Status status = Put("", "meta", "content", bad).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
  EXPECT_TRUE(absl::IsNotFound(store_->Resolve("", "meta").status()));
}

TEST_P(StoreContract, AnOpenReadIsWholeThroughDeletesAndOverwrites) {
  const std::string content = RandomBytes(12582912, 9);
  ASSERT_TRUE(Put("mail", "read", content).ok());
  absl::StatusOr<std::unique_ptr<OpenRead>> read = store_->Open(Named("mail", "read"), {});
  ASSERT_TRUE(read.ok());
  std::string got = *(*read)->Next(1000);
  ASSERT_TRUE(Put("mail", "read", "overwritten").ok());
  ASSERT_TRUE(store_->Delete("mail", {"read"}).ok());
  ASSERT_TRUE(store_->DeleteBucket("mail").ok());
  absl::StatusOr<std::string> rest = ReadAll(**read);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_TRUE(got + *rest == content);
}

TEST_P(StoreContract, SavesReadsAndDeletesRaceSafely) {
  // The workload of a mail server's own contract: ten threads save, read and delete one name; a reader sees a whole
  // value or none.
  const std::string large = RandomBytes(12582912, 10);
  const std::string medium = RandomBytes(11000, 11);
  std::vector<std::thread> threads;
  std::atomic<int> whole = 0;
  for (int t = 0; t < 10; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        switch ((t + i) % 4) {
          case 0:
            EXPECT_TRUE(Put("mail", "contended", large).ok());
            break;
          case 1:
            EXPECT_TRUE(Put("mail", "contended", medium).ok());
            break;
          case 2:
            EXPECT_TRUE(store_->Delete("mail", {"contended"}).ok());
            break;
          default: {
            absl::StatusOr<std::string> got = Get("mail", "contended");
            if (got.ok()) {
              EXPECT_TRUE(*got == large || *got == medium);
              ++whole;
            } else {
              EXPECT_TRUE(absl::IsNotFound(got.status())) << got.status();
            }
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Put("mail", "contended", medium).ok());
  EXPECT_TRUE(Get("mail", "contended").value_or("") == medium);
  EXPECT_EQ(store_->GetStatus().totals.blobs, 2u);
  EXPECT_EQ(store_->GetStatus().totals.references, 1u);
  EXPECT_TRUE(store_->VerifyAll()->empty());
}

TEST_P(StoreContract, ConcurrentPutsOfOneContentKeepOneCopy) {
  for (const size_t size : {size_t{5000}, 3 * kSegmentBytes, 10 * kSegmentBytes}) {
    const std::string content = RandomBytes(size, size);
    std::atomic<int> fresh = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        absl::StatusOr<PutResult> put = Put("race", absl::StrCat(size, "-", t), content);
        ASSERT_TRUE(put.ok()) << put.status();
        if (!put->deduplicated) ++fresh;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(fresh, 1) << size;
    for (int t = 0; t < 8; ++t) EXPECT_TRUE(Get("race", absl::StrCat(size, "-", t)).value_or("") == content);
  }
  EXPECT_EQ(store_->GetStatus().totals.blobs, 3u);
  EXPECT_EQ(store_->GetStatus().staging_bytes, 0u);
}

TEST_P(StoreContract, ReadersClosedUnreadLeakNothing) {
  ASSERT_TRUE(Put("mail", "unread", RandomBytes(2 * kSegmentBytes, 12)).ok());
  for (int i = 0; i < 256; ++i) {
    absl::StatusOr<std::unique_ptr<OpenRead>> read = store_->Open(Named("mail", "unread"), {});
    ASSERT_TRUE(read.ok()) << i << read.status();
    if (i % 2 == 0) {
      ASSERT_TRUE((*read)->Next(10).ok());
    }
  }
  EXPECT_TRUE(Get("mail", "unread").ok());
}

}  // namespace coffer
