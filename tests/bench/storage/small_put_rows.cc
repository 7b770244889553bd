// SPDX-License-Identifier: Apache-2.0
//
// Small puts: many callers with a blob each, beside raw RocksDB that gets as many in one batch as there are callers;
// known content beside new; and many blobs in one call, beside raw RocksDB that writes the same rows.
#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/workload/mail_workload.h"
#include "tests/bench/storage/bench_store.h"
#include "tests/bench/storage/raw_controls.h"

namespace coffer::bench {
namespace {

constexpr int kCallers = 64;
constexpr size_t kLargestBytes = 64 * kKiB;
constexpr size_t kMailBytes = 11000;

// The size of the i-th blob.
using SizeOf = std::function<size_t(uint64_t i)>;

double NewPutRate(StorageBench& bench, BenchStore& store, Callers& callers, const SizeOf& size_of) {
  std::atomic<uint64_t> next = 0;
  return callers.Rate(bench.turn_seconds(),
                      [&](int, StampedBytes& bytes) { store.Put(bytes.Blob(bench.FreshNumber(), size_of(next++))); });
}

void AgainstRocksDb(StorageBench& bench, const std::string& name, const SizeOf& size_of) {
  if (!bench.Wants(name)) return;
  BenchStore store(bench, "store");
  RawRocksDb plain(bench, "plain", false);
  RawRocksDb blob_files(bench, "blob-files", true);
  Callers callers(kCallers, kLargestBytes);
  StampedBytes bytes(kLargestBytes);
  Row row{name, "blobs/s", {}, "", {}, true};
  std::vector<double> plain_samples;
  std::vector<double> blob_file_samples;
  const std::vector<Side> sides = {
      {[&] { return plain.Rate(bench.turn_seconds(), bytes, size_of); }, plain_samples},
      {[&] { return blob_files.Rate(bench.turn_seconds(), bytes, size_of); }, blob_file_samples},
      {[&] { return NewPutRate(bench, store, callers, size_of); }, row.samples},
  };
  for (const Side& side : sides) side.measure();
  Alternate(bench.rounds(), sides, [] { WaitUntilQuiet(); });
  const bool plain_is_faster = Median(plain_samples) > Median(blob_file_samples);
  row.control = plain_is_faster ? "RocksDB, batches of 64" : "BlobDB, batches of 64";
  row.control_samples = plain_is_faster ? plain_samples : blob_file_samples;
  bench.Print(row);
}

// Headers and bodies by turns, as the mail workload has them; what is above 64 KiB is no small put.
std::vector<size_t> MailSizes() {
  client::MailWorkload workload(42);
  std::vector<size_t> sizes;
  while (sizes.size() < 1024) {
    const uint64_t size_bytes = sizes.size() % 2 == 0 ? workload.HeaderBytes() : workload.BodyBytes();
    if (size_bytes <= kLargestBytes) sizes.push_back(size_bytes);
  }
  return sizes;
}

}  // namespace

void SmallPutRows(StorageBench& bench) {
  for (const size_t size_bytes : {size_t{kKiB}, kMailBytes, kLargestBytes}) {
    AgainstRocksDb(bench, absl::StrCat("put ", size_bytes, " B, 64 callers, new"),
                   [=](uint64_t) { return size_bytes; });
  }
  const std::vector<size_t> sizes = MailSizes();
  AgainstRocksDb(bench, "put mail up to 64 KiB, 64 callers, new", [&](uint64_t i) { return sizes[i % sizes.size()]; });
}

void DuplicateRows(StorageBench& bench) {
  constexpr uint64_t kKnown = 4096;
  Row row{absl::StrCat("put ", kMailBytes, " B, 64 callers, known"), "blobs/s", {}, "new ones", {}, true};
  if (!bench.Wants(row.name)) return;
  BenchStore store(bench, "store");
  Callers callers(kCallers, kMailBytes);
  const uint64_t known = bench.FreshNumber();
  std::atomic<uint64_t> next = 0;
  while (bench.FreshNumber() < known + kKnown) continue;
  callers.Run([&] { return next < kKnown; },
              [&](int, StampedBytes& bytes) { store.Put(bytes.Blob(known + next++ % kKnown, kMailBytes)); });
  const auto known_rate = [&] {
    return callers.Rate(bench.turn_seconds(),
                        [&](int, StampedBytes& bytes) { store.Put(bytes.Blob(known + next++ % kKnown, kMailBytes)); });
  };
  const auto new_rate = [&] { return NewPutRate(bench, store, callers, [](uint64_t) { return kMailBytes; }); };
  Alternate(bench.rounds(), {{new_rate, row.control_samples}, {known_rate, row.samples}}, [] { WaitUntilQuiet(); });
  bench.Print(row);
}

namespace {

constexpr size_t kBatch = 128;

// What one blob of `size_bytes` leaves in the database, for each column family that has a row for every blob.
std::vector<FamilyRows> RowsOfABlob(StorageBench& bench, size_t size_bytes, double& rows_a_blob) {
  constexpr size_t kBatches = 8;
  BenchStore store(bench, "rows");
  std::vector<StampedBytes> bytes(kBatch, StampedBytes(size_bytes));
  for (size_t i = 0; i < kBatches; ++i) store.PutBatch(bytes, size_bytes, kBatch);
  store.Close();
  std::vector<FamilyRows> shapes;
  uint64_t rows = 0;
  for (const FamilyRows& family : CountRowsOfFamilies(store.directory())) {
    rows += family.rows;
    if (family.rows >= kBatches * kBatch) {
      shapes.push_back({1, family.key_bytes / family.rows, family.value_bytes / family.rows});
    }
  }
  rows_a_blob = static_cast<double>(rows) / (kBatches * kBatch);
  return shapes;
}

}  // namespace

void BatchRows(StorageBench& bench) {
  constexpr size_t kSizeBytes = kKiB;
  Row row{
      absl::StrCat("put ", kSizeBytes, " B in batches of 128, new"), "blobs/s", {}, "RocksDB, the same rows", {}, true};
  Row rows{absl::StrCat("rows a blob of ", kSizeBytes, " B, put in batches"), "rows", {}, "", {}, false};
  if (!bench.Wants(row.name) && !bench.Wants(rows.name)) return;
  const std::vector<FamilyRows> shapes = RowsOfABlob(bench, kSizeBytes, rows.samples.emplace_back());
  bench.Print(rows);
  if (!bench.Wants(row.name)) return;
  BenchStore store(bench, "store");
  RawRocksDb plain(bench, "plain", false, shapes.size());
  std::vector<StampedBytes> bytes(kBatch, StampedBytes(kSizeBytes));
  Callers one(1, kLargestBytes);
  const auto ours = [&] {
    return kBatch *
           one.Rate(bench.turn_seconds(), [&](int, StampedBytes&) { store.PutBatch(bytes, kSizeBytes, kBatch); });
  };
  const auto control = [&] {
    return kBatch * one.Rate(bench.turn_seconds(), [&](int, StampedBytes& value) {
      for (size_t i = 0; i < kBatch; ++i) {
        for (size_t family = 0; family < shapes.size(); ++family) {
          const FamilyRows& shape = shapes[family];
          const absl::string_view bytes_of_value = value.Blob(bench.FreshNumber(), 2 * kSizeBytes);
          plain.Put(family, shape.key_bytes, bytes_of_value.substr(0, shape.value_bytes));
        }
      }
      plain.Commit();
    });
  };
  const std::vector<Side> sides = {{control, row.control_samples}, {ours, row.samples}};
  for (const Side& side : sides) side.measure();
  Alternate(bench.rounds(), sides, [] { WaitUntilQuiet(); });
  bench.Print(row);
}

}  // namespace coffer::bench
