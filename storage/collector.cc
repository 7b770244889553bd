// SPDX-License-Identifier: Apache-2.0
#include "storage/collector.h"

#include <optional>
#include <utility>
#include <vector>

namespace coffer {
namespace {

// Condemned digests that are looked at together.
constexpr size_t kPage = 1024;
// Space comes back this long after the grace period, at most, and what it takes to remove it.
constexpr absl::Duration kInterval = absl::Seconds(2);

}  // namespace

Collector::~Collector() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Collector::Start(std::function<void(const absl::Status&)> report) {
  thread_ = std::thread([this, report = std::move(report)] { Run(report); });
}

absl::StatusOr<Erasure> Collector::Collect(bool dry_run) {
  std::lock_guard collecting(collecting_);
  absl::StatusOr<Erasure> erasure = EraseDue(dry_run);
  if (dry_run) return erasure;
  // Also when a row is damaged: what was erased before must go, and the rest of the maintenance does not need it.
  const absl::Status maintained = engine_.Maintain();
  if (erasure.ok() && !maintained.ok()) return maintained;
  return erasure;
}

absl::StatusOr<Erasure> Collector::EraseDue(bool dry_run) {
  const absl::Duration until = engine_.Uptime() - grace_;
  Erasure total;
  absl::Status damaged;
  std::optional<Digest> after;
  while (true) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    absl::StatusOr<std::vector<Condemned>> page = engine_.ListCondemned(after, kPage);
    if (!page.ok()) return page.status();
    if (page->empty()) break;
    after = page->back().digest;
    std::vector<Digest> due;
    for (const Condemned& condemned : *page) {
      if (!condemned.since.ok()) damaged = condemned.since.status();
      if (condemned.since.ok() && *condemned.since <= until) due.push_back(condemned.digest);
    }
    absl::StatusOr<Erasure> erasure = engine_.EraseCondemned(due, until, dry_run);
    if (!erasure.ok()) return erasure;
    total.blobs += erasure->blobs;
    total.content_bytes += erasure->content_bytes;
  }
  if (!damaged.ok()) return damaged;
  return total;
}

void Collector::Run(const std::function<void(const absl::Status&)>& report) {
  absl::Status before;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, absl::ToChronoMilliseconds(kInterval), [this] { return stopping_; })) {
    lock.unlock();
    absl::Status status = Collect(false).status();
    if (!status.ok() && status != before) report(status);
    before = std::move(status);
    lock.lock();
  }
}

}  // namespace coffer
