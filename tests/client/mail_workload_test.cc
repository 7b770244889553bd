// SPDX-License-Identifier: Apache-2.0
#include "client/workload/mail_workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace coffer::client {
namespace {

using Kind = MailOperation::Kind;

TEST(MailWorkload, IsDeterminedByItsSeed) {
  MailWorkload one(1);
  MailWorkload same(1);
  MailWorkload other(2);
  bool differs = false;
  for (int i = 0; i < 10000; ++i) {
    const MailOperation a = one.Next();
    const MailOperation b = same.Next();
    const MailOperation c = other.Next();
    ASSERT_EQ(a.kind, b.kind);
    ASSERT_EQ(a.bucket, b.bucket);
    ASSERT_EQ(a.name, b.name);
    ASSERT_EQ(a.content.number, b.content.number);
    ASSERT_EQ(a.content.size_bytes, b.content.size_bytes);
    differs = differs || a.content.number != c.content.number;
  }
  EXPECT_TRUE(differs);
}

TEST(MailWorkload, ContentCanBeMadeInPieces) {
  const MailContent content = {42, 1000};
  const std::string whole = content.Bytes();
  for (const uint64_t offset : {0, 1, 7, 8, 500}) {
    std::string piece(300, '\0');
    content.Fill(offset, absl::MakeSpan(piece.data(), piece.size()));
    EXPECT_EQ(piece, whole.substr(offset, 300));
  }
  EXPECT_NE(whole, (MailContent{43, 1000}.Bytes()));
}

TEST(MailWorkload, SizesAreThoseOfTheStatistics) {
  MailWorkload workload(3);
  std::vector<double> bodies;
  double sum = 0;
  for (int i = 0; i < 200000; ++i) {
    bodies.push_back(static_cast<double>(workload.BodyBytes()));
    sum += bodies.back();
  }
  std::sort(bodies.begin(), bodies.end());
  EXPECT_NEAR(sum / bodies.size(), 56e3, 12e3);
  EXPECT_NEAR(bodies[bodies.size() / 2], 7500, 600);
  const double small = std::lower_bound(bodies.begin(), bodies.end(), 65536) - bodies.begin();
  EXPECT_NEAR(small / bodies.size(), 0.95, 0.02);
  EXPECT_LE(bodies.back(), 50.0 * (1 << 20));
  for (int i = 0; i < 10000; ++i) {
    const uint64_t header = workload.HeaderBytes();
    EXPECT_GE(header, 512u);
    EXPECT_LE(header, 16384u);
  }
}

TEST(MailWorkload, GetsNameWhatIsThereAndTheMixIsKept) {
  MailWorkload workload(4, 500);
  std::map<std::pair<std::string, std::string>, uint64_t> stored;
  std::set<std::pair<uint64_t, uint64_t>> known;
  std::map<Kind, int> count;
  int gets_of_headers = 0;
  for (int i = 0; i < 300000; ++i) {
    const MailOperation operation = workload.Next();
    ++count[operation.kind];
    const auto name = std::make_pair(operation.bucket, operation.name);
    const auto content = std::make_pair(operation.content.number, operation.content.size_bytes);
    switch (operation.kind) {
      case Kind::kPut:
        EXPECT_EQ(operation.is_known, known.contains(content)) << operation.name;
        known.insert(content);
        stored[name] = operation.content.number;
        break;
      case Kind::kGet:
        ASSERT_TRUE(stored.contains(name)) << operation.bucket << " " << operation.name;
        ASSERT_EQ(stored[name], operation.content.number);
        gets_of_headers += operation.name.ends_with("/header") ? 1 : 0;
        break;
      case Kind::kDelete:
        EXPECT_EQ(stored.erase(name), 1u) << operation.name;
        break;
      case Kind::kDeleteBucket:
        std::erase_if(stored, [&](const auto& entry) { return entry.first.first == operation.bucket; });
    }
  }
  const double gets = count[Kind::kGet];
  EXPECT_NEAR(gets / (gets + count[Kind::kPut]), 0.80, 0.01);
  EXPECT_NEAR(gets_of_headers / gets, 0.85, 0.01);
  EXPECT_GT(count[Kind::kDelete], 1000);
  EXPECT_GT(count[Kind::kDeleteBucket], 3);
}

}  // namespace
}  // namespace coffer::client
