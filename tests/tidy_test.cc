// SPDX-License-Identifier: Apache-2.0
//
// What the layout promises, held by a test: who may include whom, how long a file may be, and which names are not
// used. Each rule is a function from a file to the reason why it is broken, or "".
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace coffer {
namespace {

namespace fs = std::filesystem;

struct SourceFile {
  std::string path;
  std::string text;
  std::vector<std::string> includes;
  int lines = 0;
};

const fs::path kRoot = COFFER_SOURCE_DIR;

std::vector<SourceFile> Sources(const std::set<std::string>& extensions) {
  static const std::regex include(R"re(#include\s*["<]([^">]+)[">])re");
  std::vector<SourceFile> files;
  for (const char* room : {"proto", "hashing", "storage", "server", "client", "tests", "deploy"}) {
    if (!fs::exists(kRoot / room)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / room)) {
      if (!entry.is_regular_file() || !extensions.contains(entry.path().extension().string())) continue;
      SourceFile file;
      file.path = fs::relative(entry.path(), kRoot).generic_string();
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line); ++file.lines) {
        std::smatch match;
        if (std::regex_search(line, match, include)) file.includes.push_back(match[1]);
        file.text += line + "\n";
      }
      files.push_back(std::move(file));
    }
  }
  EXPECT_GT(files.size(), 5u) << "the source tree was not found at " << kRoot;
  return files;
}

std::vector<SourceFile> Code() { return Sources({".h", ".cc", ".S"}); }

bool StartsWith(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

std::string Room(const std::string& path) { return path.substr(0, path.find('/')); }

TEST(Tidy, RoomsIncludeOnlyWhatTheyMayKnow) {
  // The rooms beside its own that a room may include.
  const std::map<std::string, std::set<std::string>> may_know = {
      {"hashing", {}}, {"storage", {"hashing"}}, {"server", {"storage", "hashing"}}, {"client", {"hashing"}}};
  const std::set<std::string> rooms = {"hashing", "storage", "server", "client", "tests"};
  for (const SourceFile& file : Code()) {
    const auto known = may_know.find(Room(file.path));
    if (known == may_know.end()) continue;
    for (const std::string& include : file.includes) {
      const std::string room = Room(include);
      if (include.find('/') == std::string::npos || !rooms.contains(room) || room == known->first) continue;
      EXPECT_TRUE(known->second.contains(room)) << file.path << " includes " << include;
    }
  }
}

TEST(Tidy, LibrariesStayInTheirRooms) {
  for (const SourceFile& file : Code()) {
    const bool is_test = StartsWith(file.path, "tests/");
    const bool may_use_rocksdb = is_test || StartsWith(file.path, "storage/rocks/");
    const bool may_use_grpc = is_test || StartsWith(file.path, "server/") || StartsWith(file.path, "client/");
    const bool may_log = is_test || StartsWith(file.path, "server/") || StartsWith(file.path, "client/cli/");
    for (const std::string& include : file.includes) {
      EXPECT_TRUE(may_use_rocksdb || !StartsWith(include, "rocksdb/")) << file.path << " includes " << include;
      EXPECT_TRUE(may_use_grpc || !(StartsWith(include, "grpc") || StartsWith(include, "google/protobuf") ||
                                    include.find(".pb.h") != std::string::npos))
          << file.path << " includes " << include;
      EXPECT_TRUE(may_log || !StartsWith(include, "spdlog/")) << file.path << " includes " << include;
      if (StartsWith(file.path, "hashing/") && include.find('/') != std::string::npos) {
        EXPECT_TRUE(StartsWith(include, "hashing/") || StartsWith(include, "absl/") || StartsWith(include, "sys/"))
            << file.path << " includes " << include;
      }
    }
  }
}

TEST(Tidy, OnlyTheEnginesFolderAndTheWiringKnowTheEngine) {
  for (const SourceFile& file : Code()) {
    if (StartsWith(file.path, "storage/rocks/") || StartsWith(file.path, "tests/")) continue;
    for (const std::string& include : file.includes) {
      if (!StartsWith(include, "storage/rocks/")) continue;
      EXPECT_EQ(include, "storage/rocks/rocks_engine.h") << file.path;
      EXPECT_EQ(file.path, "server/main.cc") << "includes " << include;
    }
  }
}

TEST(Tidy, FilesTellOneStory) {
  for (const SourceFile& file : Code()) {
    if (StartsWith(file.path, "hashing/kernel")) continue;
    EXPECT_LE(file.lines, 500) << file.path;
  }
}

TEST(Tidy, EveryFileCarriesItsLicence) {
  for (const SourceFile& file : Sources({".h", ".cc", ".S", ".proto", ".sh", ".py", ".rs"})) {
    EXPECT_NE(file.text.substr(0, 200).find("SPDX-License-Identifier: Apache-2.0"), std::string::npos) << file.path;
  }
}

TEST(Tidy, HeadersAreGuardedByPragmaOnce) {
  for (const SourceFile& file : Sources({".h"})) {
    EXPECT_NE(file.text.find("#pragma once"), std::string::npos) << file.path;
  }
}

TEST(Tidy, NamesSayWhatAThingIs) {
  static const std::regex vague("(^|[_/.])(utils?|common|helpers?|manager|misc)([_/.]|$)");
  for (const SourceFile& file : Code()) {
    EXPECT_FALSE(std::regex_search(file.path, vague)) << file.path;
  }
}

TEST(Tidy, NothingIsLeftForLater) {
  // Assembled, so that this file does not find itself.
  const std::string todo = std::string("TO") + "DO";
  const std::string disabled = std::string("DISABLED") + "_";
  for (const SourceFile& file : Code()) {
    EXPECT_EQ(file.text.find(todo), std::string::npos) << file.path;
    EXPECT_EQ(file.text.find(disabled), std::string::npos) << file.path;
  }
}

TEST(Tidy, EveryRoomHasItsReadme) {
  for (const char* room : {".", "proto", "hashing", "storage", "storage/rocks", "server", "client", "tests", "deploy"}) {
    EXPECT_TRUE(fs::exists(kRoot / room / "README.md") || fs::exists(kRoot / room / "FORMAT.md")) << room;
  }
}

}  // namespace
}  // namespace coffer
