// SPDX-License-Identifier: Apache-2.0
//
// What the layout promises, held by a test: who may include whom, how long a file may be, and which names are not
// used. Each rule is a function from a file to the reason why it is broken, or "".
#include <gtest/gtest.h>

#include <cctype>
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

SourceFile Load(const fs::path& path) {
  static const std::regex include(R"re(#include\s*["<]([^">]+)[">])re");
  SourceFile file;
  file.path = fs::relative(path, kRoot).generic_string();
  std::ifstream in(path);
  for (std::string line; std::getline(in, line); ++file.lines) {
    std::smatch match;
    if (std::regex_search(line, match, include)) file.includes.push_back(match[1]);
    file.text += line + "\n";
  }
  return file;
}

// Files whose extension or whole name is in `kinds`.
std::vector<SourceFile> Sources(const std::set<std::string>& kinds) {
  std::vector<SourceFile> files;
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    if (entry.is_regular_file() && kinds.contains(entry.path().filename().string())) {
      files.push_back(Load(entry.path()));
    }
  }
  for (const char* room : {"proto", "hashing", "storage", "server", "client", "tests", "deploy"}) {
    if (!fs::exists(kRoot / room)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / room)) {
      const fs::path& path = entry.path();
      if (!entry.is_regular_file()) continue;
      if (kinds.contains(path.extension().string()) || kinds.contains(path.filename().string())) {
        files.push_back(Load(path));
      }
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
    // Libraries return a status; only programs log.
    const bool may_log = file.path == "server/main.cc" || file.path == "client/cli/main.cc";
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
      const bool is_wiring = file.path == "server/main.cc" && include == "storage/rocks/rocks_engine.h";
      const bool is_offline = file.path == "server/offline_commands.cc" && include == "storage/rocks/offline.h";
      EXPECT_TRUE(is_wiring || is_offline) << file.path << " includes " << include;
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
  for (const SourceFile& file :
       Sources({".h", ".cc", ".S", ".proto", ".sh", ".py", ".rs", ".cmake", "CMakeLists.txt"})) {
    EXPECT_NE(file.text.substr(0, 200).find("SPDX-License-Identifier: Apache-2.0"), std::string::npos) << file.path;
  }
}

TEST(Tidy, HeadersAreGuardedByPragmaOnce) {
  for (const SourceFile& file : Sources({".h"})) {
    EXPECT_NE(file.text.find("#pragma once"), std::string::npos) << file.path;
  }
}

// Words that say nothing about a thing.
const std::set<std::string> kVague = {"util", "utils", "common", "helper", "helpers", "manager", "managers", "misc"};

// Identifiers that may contain them, with the start of the paths where they may.
const std::map<std::string, std::string> kAllowedNames = {
    // RocksDB's own names.
    {"WriteBufferManager", "storage/rocks/"},
    {"write_buffer_manager", "storage/rocks/"},
    // A worker that takes part in the work of another thread is called its helper.
    {"HelperRefused", "hashing/"},
    {"HelpersFor", "hashing/"},
    {"helpers", "hashing/"},
    {"helpers_", "hashing/"},
    {"max_helpers", "hashing/"},
    {"max_helpers_", "hashing/"},
};

bool IsNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The words of a snake_case or CamelCase name, in lower case.
std::set<std::string> WordsOf(const std::string& name) {
  std::set<std::string> words;
  std::string word;
  for (const char c : name + "_") {
    const bool starts_word = std::isupper(static_cast<unsigned char>(c)) != 0;
    if ((starts_word || !std::isalnum(static_cast<unsigned char>(c))) && !word.empty()) {
      words.insert(word);
      word.clear();
    }
    if (std::isalnum(static_cast<unsigned char>(c))) word += static_cast<char>(std::tolower(c));
  }
  return words;
}

// Every identifier of a line of code: no comment, no string, no #include.
std::set<std::string> NamesOf(const std::string& line) {
  std::set<std::string> names;
  if (StartsWith(line, "#include")) return names;
  bool in_string = false;
  for (size_t at = 0; at < line.size(); ++at) {
    if (in_string) {
      if (line[at] == '"') in_string = false;
      if (line[at] == '\\') ++at;
    } else if (line.compare(at, 2, "//") == 0) {
      break;
    } else if (line[at] == '"') {
      in_string = true;
    } else if (IsNameCharacter(line[at])) {
      const size_t begin = at;
      while (at + 1 < line.size() && IsNameCharacter(line[at + 1])) ++at;
      names.insert(line.substr(begin, at + 1 - begin));
    }
  }
  return names;
}

bool IsVague(const std::string& name) {
  for (const std::string& word : WordsOf(name)) {
    if (kVague.contains(word)) return true;
  }
  return false;
}

TEST(Tidy, NamesSayWhatAThingIs) {
  for (const SourceFile& file : Code()) {
    EXPECT_FALSE(IsVague(file.path)) << file.path;
    std::istringstream lines(file.text);
    for (std::string line; std::getline(lines, line);) {
      for (const std::string& name : NamesOf(line)) {
        const auto allowed = kAllowedNames.find(name);
        if (allowed != kAllowedNames.end() && StartsWith(file.path, allowed->second)) continue;
        EXPECT_FALSE(IsVague(name)) << file.path << ": " << name;
      }
    }
  }
}

TEST(Tidy, FindsVagueWordsInNames) {
  for (const char* name : {"util", "string_utils", "FileManager", "kCommon", "misc_", "MyHelper", "a/util/b.h"}) {
    EXPECT_TRUE(IsVague(name)) << name;
  }
  for (const char* name : {"utility", "uncommon", "helpful_", "commonly"}) EXPECT_FALSE(IsVague(name)) << name;
  EXPECT_EQ(NamesOf("f_1(\"util \\\" misc\", b); // common"), (std::set<std::string>{"f_1", "b"}));
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
  for (const char* room :
       {".", "proto", "hashing", "storage", "storage/rocks", "server", "client", "tests", "deploy"}) {
    EXPECT_TRUE(fs::exists(kRoot / room / "README.md") || fs::exists(kRoot / room / "FORMAT.md")) << room;
  }
}

}  // namespace
}  // namespace coffer
