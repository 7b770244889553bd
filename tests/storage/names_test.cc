// SPDX-License-Identifier: Apache-2.0
#include "storage/names.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace coffer {
namespace {

TEST(Names, AreOpaqueSoThatPathsAndDotsAreFine) {
  for (const char* name : {"a", "a/b", "../..", "/", " ", "\t", "caf\xc3\xa9", "a\nb"}) {
    EXPECT_TRUE(CheckName(name).ok()) << name;
  }
  EXPECT_TRUE(CheckName(std::string(1024, 'n')).ok());
  EXPECT_FALSE(CheckName(std::string(1025, 'n')).ok());
}

TEST(Names, ErrorsShowTheValueShortened) {
  const absl::Status status = CheckName(std::string(5000, 'n'));
  EXPECT_TRUE(absl::StrContains(status.message(), "nnnn"));
  EXPECT_TRUE(absl::StrContains(status.message(), "5000"));
  EXPECT_LT(status.message().size(), 300u);
}

TEST(Names, AreQuotedAsUtf8WhateverTheyAre) {
  EXPECT_EQ(Quoted("caf\xc3\xa9\n"), "\"caf\xc3\xa9\\n\"");
  EXPECT_EQ(Quoted("\xff"), "\"\\xff\"");
  EXPECT_EQ(Quoted(std::string(79, 'a') + "\xc3\xa9"), "\"" + std::string(79, 'a') + "\\xc3\"... (81 bytes)");
}

TEST(Names, SurrogatesAndOverlongFormsAreNotUtf8) {
  for (const char* name : {"\xed\xa0\x80", "\xc0\xaf", "\xf4\x90\x80\x80", "\x80"}) EXPECT_FALSE(CheckName(name).ok());
}

TEST(Buckets, HaveNoSlashAndNoControlCharacters) {
  for (const char* bucket : {"a", "2026-11", "caf\xc3\xa9", "a b", ".."}) EXPECT_TRUE(CheckBucket(bucket).ok());
  for (const char* bucket : {"", "a/b", "a\tb", "\x7f", "\xff"}) EXPECT_FALSE(CheckBucket(bucket).ok()) << bucket;
}

}  // namespace
}  // namespace coffer
