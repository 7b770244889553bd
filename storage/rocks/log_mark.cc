// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/log_mark.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "storage/rocks/durable_files.h"
#include "storage/rocks/encoding.h"

namespace coffer::rocks {
namespace {

// What the check of the mark covers beside its text.
constexpr absl::string_view kMarkKey = "log.mark";
// As many as fit into a text; the database has a dozen.
constexpr size_t kMaxLogs = 1000;

std::string MarkPath(const std::string& data_dir) { return absl::StrCat(data_dir, "/", kMarkKey); }

}  // namespace

std::string LogPath(const std::string& database_dir, uint64_t number) {
  char name[32];
  std::snprintf(name, sizeof(name), "/%06llu.log", static_cast<unsigned long long>(number));
  return database_dir + name;
}

absl::StatusOr<std::vector<LogExtent>> ListLogs(const std::string& database_dir) {
  std::vector<LogExtent> logs;
  std::error_code error;
  for (std::filesystem::directory_iterator it(database_dir, error), end; !error && it != end; it.increment(error)) {
    LogExtent log;
    if (it->path().extension() != ".log" || !absl::SimpleAtoi(it->path().stem().string(), &log.number)) continue;
    std::error_code gone;
    log.size_bytes = it->file_size(gone);
    // Logs that are flushed are removed at any time.
    if (!gone) logs.push_back(log);
  }
  if (error) {
    return absl::UnavailableError(absl::StrCat("directory ", database_dir, " cannot be listed: ", error.message()));
  }
  std::sort(logs.begin(), logs.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return logs;
}

absl::Status WriteLogMark(const std::string& data_dir, const std::vector<LogExtent>& logs) {
  std::string text;
  for (const LogExtent& log : absl::MakeConstSpan(logs).last(std::min(logs.size(), kMaxLogs))) {
    absl::StrAppend(&text, log.number, " ", log.size_bytes, "\n");
  }
  return ReplaceFile(MarkPath(data_dir), EncodeText(kMarkKey, text));
}

absl::StatusOr<std::vector<LogExtent>> ReadLogMark(const std::string& data_dir) {
  std::vector<LogExtent> logs;
  std::error_code error;
  if (!std::filesystem::exists(MarkPath(data_dir), error)) return logs;
  absl::StatusOr<std::string> content = ReadWholeFile(MarkPath(data_dir));
  if (!content.ok()) return content.status();
  absl::StatusOr<std::string> text = DecodeText(kMarkKey, *content);
  if (!text.ok()) return absl::DataLossError(absl::StrCat(MarkPath(data_dir), " is damaged"));
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    LogExtent log;
    if (words.size() != 2 || !absl::SimpleAtoi(words[0], &log.number) || !absl::SimpleAtoi(words[1], &log.size_bytes)) {
      return absl::DataLossError(absl::StrCat(MarkPath(data_dir), " is damaged"));
    }
    logs.push_back(log);
  }
  return logs;
}

absl::Status RemoveLogMark(const std::string& data_dir) {
  std::error_code error;
  std::filesystem::remove(MarkPath(data_dir), error);
  if (error) return absl::UnavailableError(absl::StrCat(MarkPath(data_dir), " cannot be removed: ", error.message()));
  return SyncDirectory(data_dir);
}

}  // namespace coffer::rocks
