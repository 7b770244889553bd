// SPDX-License-Identifier: Apache-2.0
#include "client/workload/mail_workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace coffer::client {
namespace {

constexpr char kQueueBucket[] = "mail-queue";
// Attachments that may come again.
constexpr size_t kRememberedAttachments = 1000;

// One step of splitmix64: a well-mixed word for every (number, position).
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

void MailContent::Fill(uint64_t offset_bytes, absl::Span<char> out) const {
  constexpr uint64_t kWord = sizeof(uint64_t);
  while (!out.empty()) {
    const uint64_t word = Mix(Mix(number) + offset_bytes / kWord);
    const uint64_t begin = offset_bytes % kWord;
    const size_t take = std::min<size_t>(kWord - begin, out.size());
    std::memcpy(out.data(), reinterpret_cast<const char*>(&word) + begin, take);
    out.remove_prefix(take);
    offset_bytes += take;
  }
}

std::string MailContent::Bytes() const {
  std::string bytes(size_bytes, '\0');
  Fill(0, absl::MakeSpan(bytes.data(), bytes.size()));
  return bytes;
}

MailWorkload::MailWorkload(uint64_t seed, uint64_t mails_per_month) : random_(seed), mails_per_month_(mails_per_month) {
  // Two seeds shall not make the same content.
  next_number_ = Mix(seed) | 1;
  StartMonth();
}

absl::Span<const uint64_t> MailWorkload::FixedSizes() {
  static constexpr std::array<uint64_t, 8> kSizes = {0, 4, 4096, 11000, 131072, 1 << 20, 8 << 20, 12 << 20};
  return kSizes;
}

// The standard library's distributions may differ from one to the next; these do not.
double MailWorkload::Uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

uint64_t MailWorkload::Below(uint64_t bound) { return static_cast<uint64_t>(Uniform() * static_cast<double>(bound)); }

double MailWorkload::Lognormal(double median, double sigma) {
  // Box and Muller; 1 - u keeps the logarithm finite.
  const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
  return median * std::exp(sigma * radius * std::cos(2 * std::numbers::pi * Uniform()));
}

uint64_t MailWorkload::HeaderBytes() { return static_cast<uint64_t>(std::clamp(Lognormal(3584, 0.5), 512.0, 16384.0)); }

uint64_t MailWorkload::BodyBytes() { return NewBody().content.size_bytes; }

MailWorkload::Body MailWorkload::NewBody() {
  Body body;
  body.has_attachment = Uniform() < 0.05;
  if (body.has_attachment && !attachments_.empty() && Uniform() < 0.36) {
    body.content = attachments_[Below(attachments_.size())];
    body.is_known = true;
    return body;
  }
  const double size = body.has_attachment ? Lognormal(180 * 1024, 1.8) : Lognormal(7 * 1024, 1.0);
  body.content = {next_number_++, static_cast<uint64_t>(std::min(size, static_cast<double>(kMaxBodyBytes)))};
  if (body.has_attachment) {
    attachments_.push_back(body.content);
    if (attachments_.size() > kRememberedAttachments) attachments_.pop_front();
  }
  return body;
}

int MailWorkload::Recipients() {
  const double kind = Uniform();
  if (kind < 0.70) return 1;
  if (kind < 0.95) return 2 + static_cast<int>(Below(4));
  return 6 + static_cast<int>(Below(45));
}

void MailWorkload::StartMonth() {
  const uint64_t month = mails_ / mails_per_month_;
  months_.push_back({absl::StrFormat("mail-%04d-%02d", 2020 + month / 12, 1 + month % 12), {}, {}});
  if (months_.size() <= kMonths) return;
  pending_.push_back({MailOperation::Kind::kDeleteBucket, months_.front().bucket, "", {}, false});
  months_.pop_front();
}

void MailWorkload::Deliver() {
  const Body body = NewBody();
  const int recipients = Recipients();
  const std::string mail = absl::StrCat(mails_);
  const MailContent queued = {next_number_++, HeaderBytes() + body.content.size_bytes};
  pending_.push_back({MailOperation::Kind::kPut, kQueueBucket, mail, queued, false});
  const std::string& bucket = months_.back().bucket;
  for (int i = 0; i < recipients; ++i) {
    const std::string name = absl::StrCat("inbox/", mail, "/", i);
    pending_.push_back({MailOperation::Kind::kPut, bucket, name + "/header", {next_number_++, HeaderBytes()}, false});
    pending_.push_back({MailOperation::Kind::kPut, bucket, name + "/body", body.content, body.is_known || i > 0});
    if (body.has_attachment && Uniform() < 0.40) {
      pending_.push_back({MailOperation::Kind::kDelete, bucket, name + "/body", body.content, false});
    }
  }
  pending_.push_back({MailOperation::Kind::kDelete, kQueueBucket, mail, queued, false});
  if (++mails_ % mails_per_month_ == 0) StartMonth();
}

MailOperation MailWorkload::GetOfKnown() {
  const bool of_header = Uniform() < 0.85;
  // From a month that has something; the first put of all makes the latest one have it.
  std::vector<const Month*> with_mail;
  for (const Month& month : months_) {
    if (!(of_header ? month.headers : month.bodies).empty()) with_mail.push_back(&month);
  }
  if (with_mail.empty()) return {MailOperation::Kind::kPut, "", "", {}, false};
  const Month& month = *with_mail[Below(with_mail.size())];
  const std::vector<Stored>& stored = of_header ? month.headers : month.bodies;
  const Stored& chosen = stored[Below(stored.size())];
  return {MailOperation::Kind::kGet, month.bucket, chosen.name, chosen.content, false};
}

MailOperation MailWorkload::Next() {
  // Deletes come as soon as their turn is there; only gets and puts are weighed against each other.
  const bool is_delete = !pending_.empty() && pending_.front().kind != MailOperation::Kind::kPut;
  if (!is_delete && Uniform() < 0.80) {
    MailOperation get = GetOfKnown();
    if (get.kind == MailOperation::Kind::kGet) return get;
  }
  if (pending_.empty()) Deliver();
  MailOperation operation = std::move(pending_.front());
  pending_.pop_front();
  for (Month& month : months_) {
    if (month.bucket != operation.bucket) continue;
    const bool is_body = operation.name.ends_with("/body");
    std::vector<Stored>& stored = is_body ? month.bodies : month.headers;
    if (operation.kind == MailOperation::Kind::kPut) stored.push_back({operation.name, operation.content});
    // A body is deleted right after it was put.
    if (operation.kind == MailOperation::Kind::kDelete) stored.pop_back();
  }
  return operation;
}

}  // namespace coffer::client
