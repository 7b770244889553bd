// SPDX-License-Identifier: Apache-2.0
//
// What a mail server asks of a blob store, as a sequence of operations that a seed determines. The distributions are
// those of published statistics of 2007-2013 and of one provider; say so beside results.
//
//   body       95 %: lognormal, median 7 KiB, sigma 1.0; 5 %, with an attachment: median 180 KiB, sigma 1.8, at most
//              50 MiB. An attachment was seen before in 36 % of cases.
//   header     lognormal, median 3.5 KiB, sigma 0.5, from 0.5 to 16 KiB; never the same twice
//   recipients 70 % one, 25 % two to five, 5 % six to fifty; each has header and body under a name of its own, so a
//   body
//              is put once a recipient
//   queue      a mail is put there as a whole first and deleted when it is delivered
//   mix        80 % gets, of which 85 % are of headers; 20 % puts; deletes come beside them
//   deletes    40 % of the references to bodies with attachments; and the oldest month's bucket, whole
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace coffer::client {

// Content that can be made again from its number: two are equal if and only if their numbers and sizes are.
struct MailContent {
  uint64_t number = 0;
  uint64_t size_bytes = 0;

  // Writes the bytes from `offset_bytes` on.
  void Fill(uint64_t offset_bytes, absl::Span<char> out) const;
  // All of it.
  std::string Bytes() const;
};

struct MailOperation {
  enum class Kind { kPut, kGet, kDelete, kDeleteBucket };

  Kind kind = Kind::kPut;
  std::string bucket;
  // Empty for kDeleteBucket.
  std::string name;
  // What is put, or what a get must return.
  MailContent content;
  // For a put: the same content was put before.
  bool is_known = false;
};

// Used by one thread at a time.
class MailWorkload {
 public:
  // `mails_per_month`: how often a new bucket starts; the latest kMonths are kept.
  explicit MailWorkload(uint64_t seed, uint64_t mails_per_month = 5000);

  // The next operation. A get names what an earlier operation put and none has deleted, so it must succeed if
  // operations are carried out in order.
  MailOperation Next();

  // Sizes to be measured one by one, with 1, 10 and 64 clients.
  static absl::Span<const uint64_t> FixedSizes();

  static constexpr uint64_t kMonths = 3;
  static constexpr uint64_t kMaxBodyBytes = uint64_t{50} << 20;

  // One draw of each size; for benches that need sizes alone.
  uint64_t BodyBytes();
  uint64_t HeaderBytes();

 private:
  struct Stored {
    std::string name;
    MailContent content;
  };
  struct Month {
    std::string bucket;
    std::vector<Stored> headers;
    std::vector<Stored> bodies;
  };
  struct Body {
    MailContent content;
    bool has_attachment = false;
    bool is_known = false;
  };

  double Uniform();
  double Lognormal(double median, double sigma);
  uint64_t Below(uint64_t bound);
  Body NewBody();
  int Recipients();
  void Deliver();
  void StartMonth();
  MailOperation GetOfKnown();

  std::mt19937_64 random_;
  const uint64_t mails_per_month_;
  uint64_t next_number_ = 1;
  uint64_t mails_ = 0;
  std::deque<Month> months_;
  std::deque<MailContent> attachments_;
  // Puts and deletes of mails under way.
  std::deque<MailOperation> pending_;
};

}  // namespace coffer::client
