// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/log_check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/rocks/durable_files.h"
#include "storage/rocks/log_records.h"
#include "storage/rocks/log_trailer.h"

namespace coffer::rocks {
namespace {

// A batch begins with its sequence number and the number of its rows.
constexpr size_t kBatchHeaderBytes = 12;
// How far sequence numbers may run ahead of the rows in the log: an ingest may take one. What claims more is content
// that happens to look like a log.
constexpr uint64_t kSequenceSlack = uint64_t{1} << 20;

struct BatchHeader {
  uint64_t sequence = 0;
  uint64_t rows = 0;
};

std::optional<BatchHeader> HeaderOf(absl::string_view payload) {
  if (payload.size() < kBatchHeaderBytes) return std::nullopt;
  return BatchHeader{LittleEndian64(payload.data()), LittleEndian32(payload.data() + 8)};
}

// The end of a batch whose fragments come one by one.
class TrailerCollector {
 public:
  void Add(const LogFragment& fragment) {
    if (fragment.begins_batch()) Clear();
    batch_bytes_ += fragment.payload.size();
    const size_t kept = std::min(fragment.payload.size(), LogTrailer::kEntryBytes);
    absl::StrAppend(&end_, fragment.payload.substr(fragment.payload.size() - kept));
    if (end_.size() > LogTrailer::kEntryBytes) end_.erase(0, end_.size() - LogTrailer::kEntryBytes);
  }
  void Clear() {
    end_.clear();
    batch_bytes_ = 0;
  }
  uint64_t batch_bytes() const { return batch_bytes_; }
  std::optional<LogTrailer> trailer() const { return LogTrailer::Decode(end_); }

 private:
  std::string end_;
  uint64_t batch_bytes_ = 0;
};

class LogCheck {
 public:
  LogCheck(std::string database_dir, std::vector<LogExtent> logs, std::vector<LogExtent> mark)
      : database_dir_(std::move(database_dir)), logs_(std::move(logs)), mark_(std::move(mark)) {}

  absl::StatusOr<std::optional<LogFault>> Run() {
    for (size_t i = 0; i < logs_.size(); ++i) {
      if (std::optional<LogFault> missing = MissingBefore(i); missing.has_value()) return missing;
      absl::StatusOr<LogFile> file = LogFile::Open(LogPath(database_dir_, logs_[i].number));
      if (!file.ok()) return file.status();
      absl::StatusOr<std::optional<LogFault>> fault = CheckOne(i, *file);
      if (!fault.ok() || fault->has_value()) return fault;
    }
    return MissingBefore(logs_.size());
  }

 private:
  // A log that the mark knows and that would stand before log `i`.
  std::optional<LogFault> MissingBefore(size_t i) const {
    for (const LogExtent& marked : mark_) {
      if (i > 0 && marked.number <= logs_[i - 1].number) continue;
      if (i < logs_.size() && marked.number >= logs_[i].number) break;
      if (marked.size_bytes == 0) continue;
      return FaultAt(i, marked.number, 0, absl::StrCat("the log is gone; it had ", marked.size_bytes, " bytes"));
    }
    return std::nullopt;
  }

  LogFault FaultAt(size_t i, uint64_t number, uint64_t offset_bytes, std::string problem) const {
    LogFault fault;
    fault.log_number = number;
    fault.path = LogPath(database_dir_, number);
    fault.offset_bytes = offset_bytes;
    fault.problem = std::move(problem);
    for (size_t later = i; later < logs_.size(); ++later) fault.lost_bytes += logs_[later].size_bytes;
    fault.lost_bytes -= offset_bytes;
    return fault;
  }

  absl::StatusOr<std::optional<LogFault>> CheckOne(size_t i, LogFile& file) {
    batch_begin_ = 0;
    uint64_t at = 0;
    bool in_batch = false;
    while (true) {
      const uint64_t place = LogFile::NextPlace(at);
      absl::StatusOr<std::optional<LogFragment>> fragment = file.At(place);
      if (!fragment.ok()) return fragment.status();
      if (!fragment->has_value()) break;
      // A batch that begins before the last one has ended, or goes on without having begun.
      if ((*fragment)->begins_batch() == in_batch) break;
      if ((*fragment)->begins_batch()) {
        batch_begin_ = place;
        if (!SequenceFits(**fragment)) {
          return std::optional<LogFault>(
              FaultAt(i, logs_[i].number, place, "the batch that begins there is older than the one before"));
        }
      }
      trailer_.Add(**fragment);
      at = (*fragment)->end_bytes;
      in_batch = !(*fragment)->ends_batch();
      if (in_batch) continue;
      if (!TrailerFits()) {
        return std::optional<LogFault>(
            FaultAt(i, logs_[i].number, batch_begin_, "a batch is missing before the one that begins there"));
      }
      batch_begin_ = at;
    }
    absl::StatusOr<bool> is_end = file.IsEnd(at);
    if (!is_end.ok()) return is_end.status();
    if (*is_end && !in_batch) return ShorterThanMarked(i, at);
    return Judge(i, file, at);
  }

  // Numbers only go up.
  bool SequenceFits(const LogFragment& fragment) {
    const std::optional<BatchHeader> header = HeaderOf(fragment.payload);
    // Split by the end of a block.
    if (!header.has_value()) {
      sequence_ = 0;
      return true;
    }
    if (header->sequence < next_sequence_) return false;
    sequence_ = header->sequence;
    next_sequence_ = header->sequence + header->rows;
    return true;
  }

  bool TrailerFits() {
    const std::optional<LogTrailer> trailer = trailer_.trailer();
    const uint64_t before = std::exchange(previous_sequence_, sequence_);
    if (!trailer.has_value() || trailer->batch_bytes != trailer_.batch_bytes()) return true;
    return trailer->previous_sequence == 0 || before == 0 || trailer->previous_sequence == before;
  }

  std::optional<LogFault> ShorterThanMarked(size_t i, uint64_t end) const {
    for (const LogExtent& marked : mark_) {
      if (marked.number != logs_[i].number || marked.size_bytes <= logs_[i].size_bytes) continue;
      return FaultAt(i, logs_[i].number, end, absl::StrCat("the log ends there; it had ", marked.size_bytes, " bytes"));
    }
    return std::nullopt;
  }

  // What it means that no valid fragment follows at `at`, in a batch that began at batch_begin_ or begins there.
  absl::StatusOr<std::optional<LogFault>> Judge(size_t i, LogFile& file, uint64_t at) {
    LogFault fault = FaultAt(i, logs_[i].number, batch_begin_, "a record fails its checksum");
    for (const LogExtent& marked : mark_) {
      if (marked.number != logs_[i].number || marked.size_bytes <= batch_begin_) continue;
      absl::StrAppend(&fault.problem, ", and everything up to ", marked.size_bytes, " was acknowledged");
      return std::optional<LogFault>(fault);
    }
    absl::StatusOr<std::optional<uint64_t>> other = OtherBatchIn(file, at, batch_begin_);
    if (!other.ok()) return other.status();
    if (other->has_value()) {
      absl::StrAppend(&fault.problem, ", and there is another batch behind it, at ", **other);
      return std::optional<LogFault>(fault);
    }
    for (size_t later = i + 1; later < logs_.size(); ++later) {
      absl::StatusOr<LogFile> next = LogFile::Open(LogPath(database_dir_, logs_[later].number));
      if (!next.ok()) return next.status();
      absl::StatusOr<std::optional<LogFragment>> fragment = next->Next(0);
      if (!fragment.ok()) return fragment.status();
      if (!fragment->has_value()) continue;
      absl::StrAppend(&fault.problem, ", and a later log is not empty: ", next->path());
      return std::optional<LogFault>(fault);
    }
    fault.is_torn_end = true;
    return std::optional<LogFault>(fault);
  }

  // Where, behind `at`, there is something of another batch than the one that began at `batch_begin`.
  absl::StatusOr<std::optional<uint64_t>> OtherBatchIn(LogFile& file, uint64_t at, uint64_t batch_begin) {
    TrailerCollector end;
    uint64_t collected_to = 0;
    for (uint64_t from = at; from < file.size_bytes();) {
      absl::StatusOr<std::optional<LogFragment>> fragment = file.Next(from);
      if (!fragment.ok()) return fragment.status();
      if (!fragment->has_value()) break;
      const LogFragment& found = **fragment;
      if (!IsBelievable(found, file.size_bytes())) {
        from = found.begin_bytes + 1;
        continue;
      }
      if (found.begins_batch()) return std::optional<uint64_t>(found.begin_bytes);
      // Only what is left without a gap ends with a trailer.
      if (found.begin_bytes != LogFile::NextPlace(collected_to)) end.Clear();
      end.Add(found);
      collected_to = found.end_bytes;
      if (found.ends_batch()) {
        const std::optional<LogTrailer> trailer = end.trailer();
        if (!trailer.has_value() || BeginOfBatch(found.end_bytes, trailer->batch_bytes) != batch_begin) {
          return std::optional<uint64_t>(found.begin_bytes);
        }
      }
      from = found.end_bytes;
    }
    return std::optional<uint64_t>();
  }

  // Not a piece of content that looks like a log: a batch has the next sequence numbers, and whatever is cut by the end
  // of a block reaches it.
  bool IsBelievable(const LogFragment& fragment, uint64_t size_bytes) const {
    if (!fragment.ends_batch() && fragment.end_bytes % LogFile::kBlockBytes != 0) return false;
    if (fragment.part == LogFragment::Part::kMiddle || fragment.part == LogFragment::Part::kLast) {
      return fragment.begin_bytes % LogFile::kBlockBytes == 0;
    }
    const std::optional<BatchHeader> header = HeaderOf(fragment.payload);
    if (!header.has_value()) return true;
    return header->sequence >= next_sequence_ && header->sequence - next_sequence_ <= size_bytes + kSequenceSlack;
  }

  const std::string database_dir_;
  const std::vector<LogExtent> logs_;
  const std::vector<LogExtent> mark_;
  TrailerCollector trailer_;
  // Where the batch begins that is being read.
  uint64_t batch_begin_ = 0;
  // Of the batch that is being read, and of the one before; 0 if not known.
  uint64_t sequence_ = 0;
  uint64_t previous_sequence_ = 0;
  // No later batch has a smaller one.
  uint64_t next_sequence_ = 0;
};

}  // namespace

absl::Status RefusalOf(const LogFault& fault) {
  return absl::DataLossError(absl::StrCat("the log ", fault.path, " is damaged at offset ", fault.offset_bytes, ": ",
                                          fault.problem, "; ", fault.lost_bytes,
                                          " bytes of changes from there on cannot be trusted. Restore a backup, or run "
                                          "`cofferd salvage` to go on without them"));
}

absl::StatusOr<std::optional<LogFault>> CheckLogs(const std::string& path, uint64_t first_needed,
                                                  const std::vector<LogExtent>& mark) {
  absl::StatusOr<std::vector<LogExtent>> logs = ListLogs(path);
  if (!logs.ok()) return logs.status();
  const auto is_flushed = [&](const LogExtent& log) { return log.number < first_needed; };
  std::erase_if(*logs, is_flushed);
  std::vector<LogExtent> needed = mark;
  std::erase_if(needed, is_flushed);
  return LogCheck(path, *std::move(logs), std::move(needed)).Run();
}

absl::Status CutTornEnd(const LogFault& fault) { return TruncateFile(fault.path, fault.offset_bytes); }

}  // namespace coffer::rocks
