// SPDX-License-Identifier: Apache-2.0
#include "storage/scrubber.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hashing/batch_hasher.h"
#include "hashing/bytes.h"
#include "storage/layout.h"

namespace coffer {
namespace {

// Rows that are checked at a time, and what the rate counts for one, in bytes.
constexpr size_t kRowPage = 1000;
constexpr uint64_t kRowCost = 256;

// After a failure.
constexpr std::chrono::seconds kRetry(10);
// How often the thread looks whether a cycle is due, unless it is woken.
constexpr std::chrono::seconds kIdle(60);
// A change of the rate, a pause and a stop are seen after so long.
constexpr std::chrono::milliseconds kMaxWait(500);
// What may be caught up after a delay, in time of the rate.
constexpr std::chrono::milliseconds kMaxBurst(200);
// Findings of one blob that are reported.
constexpr size_t kMaxReported = 100;

}  // namespace

// Blobs of one chunk group, which are hashed side by side.
struct Scrubber::SmallBatch {
  // As many as make the hashing fast, and their bytes fit into a cache.
  static constexpr size_t kBlobs = 64;
  static constexpr size_t kBytes = 512 * 1024;

  std::vector<Digest> digests;
  std::vector<std::pair<size_t, size_t>> ranges;
  std::string bytes;

  bool IsFull() const { return digests.size() >= kBlobs || bytes.size() >= kBytes; }
};

Scrubber::~Scrubber() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Scrubber::Start() { thread_ = std::thread(&Scrubber::Run, this); }

absl::Status Scrubber::Load() {
  {
    std::lock_guard lock(mutex_);
    if (is_loaded_) return absl::OkStatus();
  }
  absl::StatusOr<ScrubState> state = engine_.LoadScrubState();
  // Then everything is checked anew; what is lost is when it was checked last.
  if (absl::IsDataLoss(state.status())) state = ScrubState();
  if (!state.ok()) return state.status();
  std::lock_guard lock(mutex_);
  if (!is_loaded_) state_ = *std::move(state);
  is_loaded_ = true;
  return absl::OkStatus();
}

absl::Status Scrubber::Update(bool force, const std::function<void(ScrubState&)>& change) {
  ScrubState state;
  {
    std::lock_guard lock(mutex_);
    change(state_);
    const absl::Time now = absl::Now();
    if (!force && now - stored_at_ < kCursorInterval && now >= stored_at_) return absl::OkStatus();
    stored_at_ = now;
    state = state_;
  }
  return engine_.StoreScrubState(state);
}

bool Scrubber::IsDue() const {
  if (runs_in_caller_) return true;
  if (state_.is_paused) return false;
  if (state_.phase != ScrubState::Phase::kBetweenCycles || begin_) return true;
  const absl::Duration age = options_.now() - state_.last_completed_start;
  // Negative: the clock was set back.
  return age >= kRest || age < absl::ZeroDuration();
}

void Scrubber::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    absl::Status status;
    bool is_due = false;
    if (!suspects_.empty()) {
      const Digest digest = suspects_.front();
      suspects_.pop_front();
      lock.unlock();
      status = Examine(digest);
      lock.lock();
    } else {
      lock.unlock();
      status = Load();
      lock.lock();
      is_due = status.ok() && IsDue();
      if (is_due) {
        lock.unlock();
        {
          std::lock_guard stepping(stepping_);
          status = Step();
        }
        lock.lock();
      }
    }
    // The page was given up for a pause, a stop or a suspect.
    if (absl::IsCancelled(status)) status = absl::OkStatus();
    last_failure_ = status;
    const auto wait = !status.ok() ? kRetry : kIdle;
    if (status.ok() && (is_due || !suspects_.empty())) continue;
    wake_.wait_for(lock, wait, [&] { return stopping_ || !suspects_.empty() || (last_failure_.ok() && IsDue()); });
  }
}

absl::Status Scrubber::RunCycle() {
  if (absl::Status status = Load(); !status.ok()) return status;
  std::lock_guard stepping(stepping_);
  std::deque<Digest> suspects;
  {
    std::lock_guard lock(mutex_);
    runs_in_caller_ = true;
    suspects.swap(suspects_);
  }
  absl::Status status;
  for (const Digest& digest : suspects) {
    if (status.ok()) status = Examine(digest);
  }
  ScrubState::Phase phase;
  do {
    if (status.ok()) status = Step();
    std::lock_guard lock(mutex_);
    phase = state_.phase;
  } while (status.ok() && phase != ScrubState::Phase::kBetweenCycles);
  std::lock_guard lock(mutex_);
  runs_in_caller_ = false;
  return status;
}

absl::Status Scrubber::Resume() {
  if (absl::Status status = Load(); !status.ok()) return status;
  absl::Status status = Update(true, [this](ScrubState& state) {
    state.is_paused = false;
    begin_ = state.phase == ScrubState::Phase::kBetweenCycles;
  });
  wake_.notify_all();
  return status;
}

absl::Status Scrubber::Pause() {
  if (absl::Status status = Load(); !status.ok()) return status;
  absl::Status status = Update(true, [](ScrubState& state) { state.is_paused = true; });
  wake_.notify_all();
  return status;
}

absl::Status Scrubber::SetRate(uint64_t bytes_per_second) {
  if (absl::Status status = Load(); !status.ok()) return status;
  absl::Status status = Update(true, [this, bytes_per_second](ScrubState& state) {
    state.rate_bytes_per_second = bytes_per_second;
    next_spend_ = std::chrono::steady_clock::now();
  });
  wake_.notify_all();
  return status;
}

void Scrubber::Suspect(const Digest& digest) {
  {
    std::lock_guard lock(mutex_);
    if (suspects_.size() >= kMaxSuspects) return;
    if (std::find(suspects_.begin(), suspects_.end(), digest) != suspects_.end()) return;
    suspects_.push_back(digest);
  }
  wake_.notify_all();
}

absl::StatusOr<ScrubStatus> Scrubber::status() {
  if (absl::Status status = Load(); !status.ok()) return status;
  const uint64_t content_bytes = engine_.GetStatus().totals.content_bytes;
  std::lock_guard lock(mutex_);
  content_bytes_ = content_bytes;
  return ScrubStatus{state_, RateLocked(), last_failure_};
}

uint64_t Scrubber::RateLocked() const {
  if (state_.rate_bytes_per_second.has_value()) return *state_.rate_bytes_per_second;
  const auto seconds = static_cast<uint64_t>(absl::ToInt64Seconds(kCycle) / 5 * 4);
  return std::max(kMinRateBytesPerSecond, content_bytes_ / seconds);
}

absl::Status Scrubber::CountContent(uint64_t blobs, uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    state_.blobs_checked += blobs;
    state_.bytes_checked += bytes;
  }
  return Spend(bytes);
}

absl::Status Scrubber::Spend(uint64_t bytes) {
  using Clock = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  uint64_t unpaid = bytes;
  while (true) {
    if (stopping_) return absl::CancelledError("the scrubber stops");
    if (state_.is_paused && !runs_in_caller_) return absl::CancelledError("the scrubber is paused");
    const uint64_t rate = RateLocked();
    if (rate == 0) return absl::OkStatus();
    const Clock::time_point now = Clock::now();
    next_spend_ = std::max(next_spend_, now - kMaxBurst);
    if (unpaid > 0) {
      const double seconds = static_cast<double>(unpaid) / static_cast<double>(rate);
      next_spend_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
      unpaid = 0;
    }
    if (next_spend_ <= now) return absl::OkStatus();
    wake_.wait_until(lock, std::min(next_spend_, now + kMaxWait));
  }
}

absl::Status Scrubber::Step() {
  ScrubState state;
  const uint64_t content_bytes = engine_.GetStatus().totals.content_bytes;
  {
    std::lock_guard lock(mutex_);
    state = state_;
    content_bytes_ = content_bytes;
  }
  switch (state.phase) {
    case ScrubState::Phase::kBetweenCycles:
      return Update(true, [this](ScrubState& begun) {
        begin_ = false;
        begun.phase = ScrubState::Phase::kContent;
        begun.position.clear();
        // As it is stored: in microseconds.
        begun.cycle_start = absl::FromUnixMicros(absl::ToUnixMicros(options_.now()));
        begun.blobs_checked = begun.bytes_checked = begun.rows_checked = 0;
      });
    case ScrubState::Phase::kContent:
      return ContentStep(state.position);
    case ScrubState::Phase::kRows:
      return RowStep(state.position);
  }
  // Of a newer program: begin anew.
  return Update(true, [](ScrubState& unknown) { unknown.phase = ScrubState::Phase::kBetweenCycles; });
}

absl::Status Scrubber::ContentStep(const std::string& position) {
  const absl::StatusOr<Digest> after = Digest::FromBytes(position);
  absl::StatusOr<std::unique_ptr<DiskScan>> scan =
      engine_.ScanDisk(after.ok() ? std::make_optional(*after) : std::nullopt, options_.page);
  if (!scan.ok()) return scan.status();
  SmallBatch batch;
  while (true) {
    absl::StatusOr<std::optional<ScannedBlob>> blob = (*scan)->Next();
    if (!blob.ok()) return blob.status();
    if (!blob->has_value()) break;
    if (absl::Status status = CheckBlob(**blob, batch); !status.ok()) return status;
  }
  if (absl::Status status = CheckBatch(batch); !status.ok()) return status;
  const std::optional<Digest> last = (*scan)->last();
  return Update(!last.has_value(), [&](ScrubState& state) {
    state.position = last.has_value() ? std::string(last->view()) : "";
    if (!last.has_value()) state.phase = ScrubState::Phase::kRows;
  });
}

absl::Status Scrubber::CheckBlob(ScannedBlob& blob, SmallBatch& batch) {
  if (!blob.lost.empty()) {
    Report({std::nullopt, {}, blob.lost});
    return absl::OkStatus();
  }
  // What it is has been reported, and it is read again when it has been put again.
  if (blob.is_quarantined) return CountContent(1, 0);
  if (absl::IsDataLoss(blob.content.status())) return Examine(blob.digest);
  if (absl::IsNotFound(blob.content.status())) return absl::OkStatus();
  if (!blob.content.ok()) return blob.content.status();
  Content& content = **blob.content;
  const uint64_t size_bytes = content.size_bytes();
  if (size_bytes <= kGroupBytes) {
    absl::StatusOr<absl::string_view> bytes = absl::string_view();
    if (size_bytes > 0) bytes = content.Read(RowId(0));
    if (!bytes.ok() || bytes->size() != size_bytes) return Examine(blob.digest);
    batch.digests.push_back(blob.digest);
    batch.ranges.emplace_back(batch.bytes.size(), bytes->size());
    batch.bytes.append(bytes->data(), bytes->size());
    return batch.IsFull() ? CheckBatch(batch) : absl::OkStatus();
  }
  bool is_damaged = false;
  uint64_t spent_bytes = 0;
  absl::Status spent;
  VerifyObserver observer;
  observer.progress = [&](const VerifyProgress& progress) {
    spent = CountContent(progress.blobs_checked,
                         progress.bytes_checked - std::exchange(spent_bytes, progress.bytes_checked));
    return spent.ok() && !is_damaged;
  };
  observer.finding = [&](const VerifyFinding&) { is_damaged = true; };
  const absl::Status status = Verifier(engine_, observer).CheckContent(blob.digest, content, {0, size_bytes});
  if (!spent.ok()) return spent;
  return status.ok() && !is_damaged ? absl::OkStatus() : Examine(blob.digest);
}

absl::Status Scrubber::CheckBatch(SmallBatch& batch) {
  const SmallBatch full = std::exchange(batch, {});
  std::vector<ByteSpan> spans;
  for (const auto& [begin, size] : full.ranges) spans.push_back(BytesOf(full.bytes).subspan(begin, size));
  std::vector<Digest> found(spans.size());
  HashBatch(spans, absl::MakeSpan(found));
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == full.digests[i]) continue;
    if (absl::Status status = Examine(full.digests[i]); !status.ok()) return status;
  }
  return CountContent(full.digests.size(), full.bytes.size());
}

absl::Status Scrubber::Examine(const Digest& digest) {
  std::vector<VerifyFinding> findings;
  uint64_t version = 0;
  absl::StatusOr<std::unique_ptr<Content>> content = engine_.OpenOnDisk(digest);
  absl::Status status = content.status();
  if (absl::IsNotFound(status)) return absl::OkStatus();
  if (content.ok()) {
    if (!(*content)->quarantine().empty()) return absl::OkStatus();
    version = (*content)->version();
    VerifyObserver observer;
    observer.progress = [&](const VerifyProgress&) {
      std::lock_guard lock(mutex_);
      return !stopping_;
    };
    observer.finding = [&](const VerifyFinding& finding) {
      if (findings.size() < kMaxReported) findings.push_back(finding);
    };
    status = Verifier(engine_, observer).CheckContent(digest, **content, {0, (*content)->size_bytes()});
    if (absl::IsCancelled(status)) return status;
  }
  // What the disk refuses to give is reported, and nothing else is done: it may be another time.
  if (absl::IsUnavailable(status)) {
    Report({digest, {}, absl::StrCat("blob ", digest.ToHex(), " cannot be read: ", status.message())});
    return absl::OkStatus();
  }
  if (absl::IsDataLoss(status)) {
    findings.push_back({digest, {}, std::string(status.message())});
  } else if (!status.ok()) {
    return status;
  }
  if (findings.empty()) return absl::OkStatus();
  const absl::StatusOr<Quarantining> done = engine_.Quarantine(digest, version, findings.front().problem);
  if (done.ok() && *done == Quarantining::kGone) return absl::OkStatus();
  for (VerifyFinding& finding : findings) {
    if (done.ok() && *done == Quarantining::kRepaired) {
      absl::StrAppend(&finding.problem, "; what was in memory is sound and was written to the disk anew");
    }
    Report(finding);
  }
  return done.status();
}

absl::Status Scrubber::RowStep(const std::string& position) {
  absl::StatusOr<RowCheck> check = engine_.CheckRows(position, kRowPage);
  if (!check.ok()) return check.status();
  for (const RowFinding& finding : check->findings) Report({finding.digest, {}, finding.problem});
  if (absl::Status status = Spend(check->rows * kRowCost); !status.ok()) return status;
  {
    std::lock_guard lock(mutex_);
    state_.rows_checked += check->rows;
  }
  const bool is_complete = check->next_cursor.empty();
  return Update(is_complete, [&](ScrubState& state) {
    state.position = check->next_cursor;
    if (!is_complete) return;
    state.phase = ScrubState::Phase::kBetweenCycles;
    state.last_completed_start = state.cycle_start;
    ++state.cycles_completed;
  });
}

void Scrubber::Report(const VerifyFinding& finding) {
  {
    std::lock_guard lock(mutex_);
    ++state_.findings;
  }
  if (options_.report) options_.report(finding);
}

}  // namespace coffer
