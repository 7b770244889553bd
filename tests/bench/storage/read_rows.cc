// SPDX-License-Identifier: Apache-2.0
//
// Verified reads of a blob that the page cache holds, beside the same rows read from the engine and copied out without
// a look at the tree.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "storage/layout.h"
#include "tests/bench/storage/bench_store.h"

namespace coffer::bench {
namespace {

class Reads {
 public:
  Reads(StorageBench& bench, uint64_t size_bytes)
      : bench_(bench), store_(bench, "store"), size_bytes_(size_bytes), out_(kRowBytes, '\0') {
    StampedBytes bytes(kMiB);
    digest_ = store_.PutLarge(bytes, size_bytes);
    Verified({0, size_bytes});
    WaitUntilQuiet();
  }

  // Ranges of one row's length that start at a random multiple of `step_bytes`.
  void RangeRow(const std::string& name, uint64_t step_bytes) {
    if (!bench_.Wants(name)) return;
    Row row{name, "reads/s", {}, "unverified", {}, true};
    const auto rate = [&](void (Reads::*read)(const ByteRange&)) {
      return RateOfReads([&] {
        const uint64_t offset_bytes = random_() % ((size_bytes_ - kRowBytes) / step_bytes + 1) * step_bytes;
        (this->*read)({offset_bytes, kRowBytes});
      });
    };
    Alternate(
        row, bench_.rounds(), [&] { return rate(&Reads::Verified); }, [&] { return rate(&Reads::Unverified); });
    bench_.Print(row);
  }

  void WholeRow(const std::string& name) {
    if (!bench_.Wants(name)) return;
    Row row{name, "MB/s", {}, "unverified", {}, true};
    const double megabytes = static_cast<double>(size_bytes_) / 1e6;
    Alternate(
        row, bench_.rounds(), [&] { return megabytes / Seconds([&] {
                                             Verified({0, size_bytes_});
                                           }); },
        [&] { return megabytes / Seconds([&] {
                       Unverified({0, size_bytes_});
                     }); });
    bench_.Print(row);
  }

 private:
  void Verified(const ByteRange& range) {
    absl::StatusOr<std::unique_ptr<BlobReader>> reader = store_.store().Open({"", digest_}, range);
    Check(reader.status());
    while (true) {
      const absl::StatusOr<size_t> got = (*reader)->Read(absl::MakeSpan(&out_[0], out_.size()));
      Check(got.status());
      if (*got == 0) return;
    }
  }

  void Unverified(const ByteRange& range) {
    absl::StatusOr<std::unique_ptr<coffer::Content>> content = store_.engine().Open(digest_);
    Check(content.status());
    const uint64_t end = range.offset_bytes + range.length_bytes;
    for (uint64_t at = range.offset_bytes; at < end;) {
      const absl::StatusOr<absl::string_view> row = (*content)->Read(RowId(at / kRowBytes));
      Check(row.status());
      const size_t begin = at % kRowBytes;
      const size_t take = std::min<uint64_t>(row->size() - begin, end - at);
      std::memcpy(&out_[0], row->data() + begin, take);
      at += take;
    }
  }

  double RateOfReads(const std::function<void()>& read) {
    uint64_t reads = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(bench_.turn_seconds());
    const double taken = Seconds([&] {
      for (; std::chrono::steady_clock::now() < end; ++reads) read();
    });
    return static_cast<double>(reads) / taken;
  }

  StorageBench& bench_;
  BenchStore store_;
  const uint64_t size_bytes_;
  Digest digest_;
  std::string out_;
  std::mt19937_64 random_{1};
};

}  // namespace

void ReadRows(StorageBench& bench) {
  const uint64_t size_bytes = bench.quick() ? 64 * kMiB : 256 * kMiB;
  const std::string aligned = "read 64 KiB ranges that are a row, warm, one caller";
  const std::string anywhere = "read 64 KiB ranges anywhere, warm, one caller";
  const std::string whole = absl::StrCat("read ", size_bytes / kMiB, " MiB in order, warm, one caller");
  if (!bench.Wants(aligned) && !bench.Wants(anywhere) && !bench.Wants(whole)) return;
  Reads reads(bench, size_bytes);
  reads.RangeRow(aligned, kRowBytes);
  reads.RangeRow(anywhere, 1);
  reads.WholeRow(whole);
}

}  // namespace coffer::bench
