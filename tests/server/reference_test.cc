// SPDX-License-Identifier: Apache-2.0
//
// ReferenceService and AdminService over the wire.
#include "absl/strings/str_cat.h"
#include "tests/support/serving_fixture.h"

namespace coffer {
namespace {

using grpc::StatusCode;

class ReferenceTest : public ServingTest {
 protected:
  grpc::Status Bind(const v1::BindRequest& request, v1::Reference* response) {
    grpc::ClientContext context;
    return references_->Bind(&context, request, response);
  }
  grpc::Status Resolve(const std::string& name, v1::Reference* response) {
    grpc::ClientContext context;
    v1::ResolveRequest request;
    request.set_name(name);
    return references_->Resolve(&context, request, response);
  }
  grpc::Status List(const v1::ListRequest& request, v1::ListResponse* response) {
    grpc::ClientContext context;
    return references_->List(&context, request, response);
  }
  grpc::Status Delete(const std::vector<std::string>& names, v1::DeleteResponse* response,
                      const std::string& bucket = "") {
    grpc::ClientContext context;
    v1::DeleteRequest request;
    request.set_bucket(bucket);
    for (const std::string& name : names) request.add_names(name);
    return references_->Delete(&context, request, response);
  }
  grpc::Status CreateBucket(const std::string& bucket, bool* created) {
    grpc::ClientContext context;
    v1::CreateBucketRequest request;
    request.set_bucket(bucket);
    v1::CreateBucketResponse response;
    const grpc::Status status = references_->CreateBucket(&context, request, &response);
    *created = response.created();
    return status;
  }
};

TEST_F(ReferenceTest, BindNamesStoredContent) {
  const v1::PutResponse put = MustPut("a", "content");
  v1::BindRequest request;
  request.set_bucket("other");
  request.set_name("b");
  request.set_digest(put.digest());
  (*request.mutable_metadata())["K"] = "v";
  v1::Reference reference;
  ASSERT_TRUE(Says(Bind(request, &reference), StatusCode::OK));
  EXPECT_EQ(reference.bucket(), "other");
  EXPECT_EQ(reference.name(), "b");
  EXPECT_EQ(reference.digest(), put.digest());
  EXPECT_EQ(reference.size_bytes(), 7u);
  EXPECT_EQ(reference.metadata().at("k"), "v");
  EXPECT_GT(reference.created().seconds(), 1'700'000'000);
}

TEST_F(ReferenceTest, BindRefusesWhatIsMissingOrMalformed) {
  v1::BindRequest request;
  v1::Reference reference;
  request.set_name("b");
  EXPECT_TRUE(Says(Bind(request, &reference), StatusCode::INVALID_ARGUMENT, {"digest", "0 bytes", "32"}));
  request.set_digest(WireDigestOf("absent"));
  EXPECT_TRUE(Says(Bind(request, &reference), StatusCode::NOT_FOUND, {DigestOf("absent").ToHex()}));
  request.set_name("b\xfe");
  EXPECT_TRUE(Says(Bind(request, &reference), StatusCode::INVALID_ARGUMENT, {"name", "UTF-8"}));
}

TEST_F(ReferenceTest, ResolveAnswersOrSaysWhatIsMissing) {
  const v1::PutResponse put = MustPut("a/../b c\xc3\xa4", "content");
  v1::Reference reference;
  ASSERT_TRUE(Says(Resolve("a/../b c\xc3\xa4", &reference), StatusCode::OK));
  EXPECT_EQ(reference.digest(), put.digest());
  EXPECT_TRUE(Says(Resolve("absent", &reference), StatusCode::NOT_FOUND, {"absent"}));
  EXPECT_TRUE(Says(Resolve("", &reference), StatusCode::INVALID_ARGUMENT, {"name"}));
}

TEST_F(ReferenceTest, ListsInPages) {
  for (int i = 0; i < 25; ++i) MustPut(absl::StrCat("n", 100 + i), "content");
  MustPut("other", "content");
  v1::ListRequest request;
  request.set_prefix("n");
  request.set_page_size(10);
  std::vector<std::string> names;
  int pages = 0;
  for (v1::ListResponse page;; request.set_cursor(page.next_cursor())) {
    ASSERT_TRUE(Says(List(request, &page), StatusCode::OK));
    ++pages;
    EXPECT_LE(page.references_size(), 10);
    for (const v1::Reference& reference : page.references()) names.push_back(reference.name());
    if (page.next_cursor().empty()) break;
  }
  EXPECT_EQ(pages, 3);
  ASSERT_EQ(names.size(), 25u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(names.front(), "n100");
  EXPECT_EQ(names.back(), "n124");
}

TEST_F(ReferenceTest, ListsMoreThanOnePartWithoutAGap) {
  for (int i = 0; i < 600; ++i) MustPut(absl::StrCat(1000 + i), "content");
  v1::ListResponse page;
  ASSERT_TRUE(Says(List({}, &page), StatusCode::OK));
  EXPECT_EQ(page.references_size(), 600);
  EXPECT_EQ(page.next_cursor(), "");
  for (int i = 0; i < page.references_size(); ++i) ASSERT_EQ(page.references(i).name(), absl::StrCat(1000 + i));
  v1::ListRequest request;
  request.set_page_size(600);
  ASSERT_TRUE(Says(List(request, &page), StatusCode::OK));
  EXPECT_EQ(page.references_size(), 600);
  request.set_page_size(599);
  ASSERT_TRUE(Says(List(request, &page), StatusCode::OK));
  EXPECT_EQ(page.references_size(), 599);
  EXPECT_EQ(page.next_cursor(), "1598");
}

TEST_F(ReferenceTest, CutsAPageThatWouldNotFitIntoAMessage) {
  const v1::PutResponse put = MustPut("x", "content");
  constexpr int kCount = 1000;  // of about 9 KiB: twice what fits
  for (int i = 0; i < kCount; ++i) {
    v1::BindRequest request;
    request.set_bucket("large");
    request.set_name(absl::StrCat(1000 + i, std::string(1020, 'n')));
    request.set_digest(put.digest());
    for (int pair = 0; pair < 8; ++pair) {
      (*request.mutable_metadata())[absl::StrCat("k", pair)] = std::string(1000, 'v');
    }
    v1::Reference reference;
    ASSERT_TRUE(Says(Bind(request, &reference), StatusCode::OK));
  }
  v1::ListRequest request;
  request.set_bucket("large");
  request.set_page_size(10'000);
  int seen = 0;
  int pages = 0;
  for (v1::ListResponse page;; request.set_cursor(page.next_cursor())) {
    ASSERT_TRUE(Says(List(request, &page), StatusCode::OK));
    EXPECT_LT(page.ByteSizeLong(), size_t{4} << 20);
    for (const v1::Reference& reference : page.references()) {
      ASSERT_EQ(reference.name().substr(0, 4), absl::StrCat(1000 + seen));
      ++seen;
    }
    ++pages;
    if (page.next_cursor().empty()) break;
  }
  EXPECT_EQ(seen, kCount);
  EXPECT_EQ(pages, 3);
}

TEST_F(ReferenceTest, RefusesPagesOverTheLimit) {
  MustPut("a", "content");
  v1::ListRequest request;
  request.set_page_size(10'001);
  v1::ListResponse response;
  EXPECT_TRUE(Says(List(request, &response), StatusCode::INVALID_ARGUMENT, {"10001", "10000"}));
  request.set_page_size(10'000);
  EXPECT_TRUE(Says(List(request, &response), StatusCode::OK));
  request.set_bucket("absent");
  EXPECT_TRUE(Says(List(request, &response), StatusCode::NOT_FOUND, {"absent"}));
}

TEST_F(ReferenceTest, DeleteIsIdempotentAndBounded) {
  MustPut("a", "content");
  MustPut("b", "content");
  v1::DeleteResponse response;
  ASSERT_TRUE(Says(Delete({"a", "absent"}, &response), StatusCode::OK));
  EXPECT_EQ(response.deleted(), 1u);
  ASSERT_TRUE(Says(Delete({"a"}, &response), StatusCode::OK));
  EXPECT_EQ(response.deleted(), 0u);
  EXPECT_TRUE(Says(Delete({"a"}, &response, "absent"), StatusCode::OK));
  EXPECT_TRUE(Says(Delete({"b", ""}, &response), StatusCode::INVALID_ARGUMENT, {"name"}));
  EXPECT_TRUE(
      Says(Delete(std::vector<std::string>(1025, "b"), &response), StatusCode::INVALID_ARGUMENT, {"1025", "1024"}));
  v1::Reference reference;
  EXPECT_TRUE(Says(Resolve("b", &reference), StatusCode::OK));
}

TEST_F(ReferenceTest, BucketsComeAndGo) {
  bool created = false;
  ASSERT_TRUE(Says(CreateBucket("b1", &created), StatusCode::OK));
  EXPECT_TRUE(created);
  ASSERT_TRUE(Says(CreateBucket("b1", &created), StatusCode::OK));
  EXPECT_FALSE(created);
  EXPECT_TRUE(Says(CreateBucket("a/b", &created), StatusCode::INVALID_ARGUMENT, {"a/b"}));
  ASSERT_TRUE(Says(CreateBucket("b2", &created), StatusCode::OK));
  MustPut("n", "content", "b2");

  v1::ListBucketsRequest request;
  request.set_page_size(1);
  std::vector<std::string> buckets;
  for (v1::ListBucketsResponse page;; request.set_cursor(page.next_cursor())) {
    grpc::ClientContext context;
    ASSERT_TRUE(Says(references_->ListBuckets(&context, request, &page), StatusCode::OK));
    for (const v1::Bucket& bucket : page.buckets()) buckets.push_back(bucket.bucket());
    if (page.next_cursor().empty()) break;
  }
  EXPECT_THAT(buckets, ::testing::ElementsAre("b1", "b2"));
  request.set_page_size(10'001);
  {
    grpc::ClientContext context;
    v1::ListBucketsResponse page;
    EXPECT_TRUE(Says(references_->ListBuckets(&context, request, &page), StatusCode::INVALID_ARGUMENT, {"10001"}));
  }

  v1::DeleteBucketRequest delete_request;
  delete_request.set_bucket("b2");
  for (const bool existed : {true, false}) {
    grpc::ClientContext context;
    v1::DeleteBucketResponse response;
    ASSERT_TRUE(Says(references_->DeleteBucket(&context, delete_request, &response), StatusCode::OK));
    EXPECT_EQ(response.deleted(), existed);
  }
  v1::GetRequest get;
  *get.mutable_blob() = ByName("n", "b2");
  EXPECT_TRUE(Says(Get(get).status, StatusCode::NOT_FOUND));
}

TEST_F(ReferenceTest, LeaseNamesWhatItRefuses) {
  v1::LeaseResponse response;
  const auto lease = [&](const v1::LeaseRequest& request) {
    grpc::ClientContext context;
    return references_->Lease(&context, request, &response);
  };
  v1::LeaseRequest request;
  EXPECT_TRUE(Says(lease(request), StatusCode::INVALID_ARGUMENT, {"0 seconds", "604800"}));
  request.set_duration_seconds(604'801);
  EXPECT_TRUE(Says(lease(request), StatusCode::INVALID_ARGUMENT, {"604801", "604800"}));
  request.set_duration_seconds(1);
  request.add_digests("short");
  EXPECT_TRUE(Says(lease(request), StatusCode::INVALID_ARGUMENT, {"digests[0]", "5", "32"}));
  request.clear_digests();
  for (int i = 0; i < 32769; ++i) request.add_digests(std::string(32, 'd'));
  EXPECT_TRUE(Says(lease(request), StatusCode::INVALID_ARGUMENT, {"32769", "32768"}));
}

TEST_F(ReferenceTest, ScrubTakesItsActionsAndNoOthers) {
  v1::ScrubResponse response;
  const auto scrub = [&](int action, uint64_t rate = 0) {
    v1::ScrubRequest request;
    request.set_action(static_cast<v1::ScrubRequest::Action>(action));
    request.set_rate_bytes_per_second(rate);
    grpc::ClientContext context;
    response.Clear();
    return admin_->Scrub(&context, request, &response);
  };
  EXPECT_TRUE(Says(scrub(0), StatusCode::INVALID_ARGUMENT, {"action is 0", "1 to 4"}));
  EXPECT_TRUE(Says(scrub(77), StatusCode::INVALID_ARGUMENT, {"action is 77"}));
  ASSERT_TRUE(Says(scrub(v1::ScrubRequest::ACTION_STATUS), StatusCode::OK));
  EXPECT_TRUE(response.running());
  EXPECT_EQ(response.rate_bytes_per_second(), uint64_t{1} << 20) << "the least, for a small store";
  EXPECT_FALSE(response.has_last_completed_start());
  ASSERT_TRUE(Says(scrub(v1::ScrubRequest::ACTION_SET_RATE, 12345), StatusCode::OK));
  ASSERT_TRUE(Says(scrub(v1::ScrubRequest::ACTION_PAUSE), StatusCode::OK));
  EXPECT_FALSE(response.running());
  EXPECT_EQ(response.rate_bytes_per_second(), 12345u);
  ASSERT_TRUE(Says(scrub(v1::ScrubRequest::ACTION_START), StatusCode::OK));
  EXPECT_TRUE(response.running());
}

TEST_F(ReferenceTest, ABackupNeedsAGoodNameAndADirectory) {
  for (const std::string& name : {std::string(), std::string("../up"), std::string(".hidden"), std::string("a/b"),
                                  std::string("a\0b", 3), std::string(256, 'a')}) {
    grpc::ClientContext context;
    v1::BackupRequest request;
    request.set_name(name);
    v1::BackupResponse backup;
    EXPECT_TRUE(Says(admin_->Backup(&context, request, &backup), StatusCode::INVALID_ARGUMENT, {"backup name"}));
  }
  grpc::ClientContext context;
  v1::BackupRequest request;
  request.set_name("monday");
  v1::BackupResponse backup;
  EXPECT_TRUE(Says(admin_->Backup(&context, request, &backup), StatusCode::FAILED_PRECONDITION, {"--backup-dir"}));
}

TEST_F(ReferenceTest, StatusTellsWhatIsStored) {
  MustPut("a", "content");
  MustPut("b", "content");
  const v1::StatusResponse status = ServerStatus();
  EXPECT_EQ(status.version(), COFFER_VERSION);
  EXPECT_EQ(status.store_id().size(), 32u);
  EXPECT_NE(status.engine(), "");
  EXPECT_GT(status.started().seconds(), 1'700'000'000);
  EXPECT_EQ(status.blobs(), 1u);
  EXPECT_EQ(status.content_bytes(), 7u);
  EXPECT_EQ(status.references(), 2u);
  EXPECT_EQ(status.referenced_bytes(), 14u);
  EXPECT_EQ(status.buckets(), 1u);
  EXPECT_EQ(status.puts_new(), 1u);
  EXPECT_EQ(status.puts_deduplicated(), 1u);
  EXPECT_EQ(status.deduplicated_bytes(), 7u);
  EXPECT_NE(status.hash_kernel(), "");
}

}  // namespace
}  // namespace coffer
