// SPDX-License-Identifier: Apache-2.0
//
// The part of the suite about names, buckets and metadata.
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/contract/contract_suite.h"

namespace coffer {

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
  EXPECT_EQ(store_->Resolve("mail", "meta")->metadata, (Metadata{{"content-type", "text/plain"}, {"x.y_z-1", "µ"}}));
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
      {"", long_name, "1024"},   {"", std::string("a\0b", 3), "NUL"},
      {"", "\xff\xfe", "UTF-8"}, {long_bucket, "name", "255"},
      {"a/b", "name", "a/b"},    {"a\nb", "name", "control"},
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
  for (const Metadata& bad : {Metadata{{"", "v"}}, Metadata{{"a b", "v"}}, Metadata{{std::string(129, 'k'), "v"}},
                              Metadata{{"k", std::string(1025, 'v')}}, Metadata{{"k", "\xff"}},
                              Metadata{{"K", "1"}, {"k", "2"}}, many, large}) {
    const absl::Status status = Put("", "meta", "content", bad).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
  EXPECT_TRUE(absl::IsNotFound(store_->Resolve("", "meta").status()));
}

}  // namespace coffer
