// SPDX-License-Identifier: Apache-2.0
//
// The scrubber on cold files, beside a cold O_DIRECT read of the same files; and whether it holds a rate.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/blob_store.h"
#include "storage/rocks/rocks_engine.h"
#include "tests/bench/table.h"

namespace coffer::bench {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "scrub_bench: %s\n", std::string(status.ToString()).c_str());
  std::exit(1);
}

std::string Filled(uint64_t number, size_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  uint64_t state = number * 0x9e3779b97f4a7c15 + 1;
  for (size_t i = 0; i + 8 <= size_bytes; i += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(&bytes[i], &state, 8);
  }
  return bytes;
}

// Every table file below `directory`, front to back; returns the bytes.
uint64_t ReadDirectly(const std::string& directory) {
  static char* const buffer = static_cast<char*>(std::aligned_alloc(4096, kMiB));
  uint64_t total = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".sst") continue;
    const int fd = open(entry.path().c_str(), O_RDONLY | O_DIRECT);
    if (fd < 0) Check(absl::UnavailableError(entry.path().string()));
    for (ssize_t got; (got = read(fd, buffer, kMiB)) > 0;) total += static_cast<uint64_t>(got);
    close(fd);
  }
  return total;
}

void Measure(const std::string& directory, size_t size_bytes, uint64_t total_bytes, int rounds, Table& table) {
  absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({directory});
  Check(engine.status());
  Engine& rows = **engine;
  WorkerPool workers(2);
  BlobStore store(*std::move(engine), BlobStore::Options{.hash_workers = &workers});
  const uint64_t count = total_bytes / size_bytes;
  for (uint64_t i = 0; i < count;) {
    std::vector<std::string> contents;
    for (uint64_t batch_bytes = 0; i < count && batch_bytes + size_bytes <= kMaxBatchBytes; ++i) {
      contents.push_back(Filled(i + 1, size_bytes));
      batch_bytes += size_bytes;
    }
    if (contents.empty()) {
      absl::StatusOr<std::unique_ptr<Upload>> upload = store.BeginUpload({});
      Check(upload.status());
      Check((*upload)->Append(Filled(++i, size_bytes)));
      Check((*upload)->Commit().status());
      continue;
    }
    std::vector<BatchItem> items(contents.size());
    for (size_t j = 0; j < items.size(); ++j) items[j].content = contents[j];
    for (const auto& put : store.PutBatch(items)) Check(put.status());
  }
  Check(store.scrubber().SetRate(0));
  Check(store.scrubber().RunCycle());
  const uint64_t bytes = count * size_bytes;
  Row row{absl::StrCat("scrub of blobs of ", size_bytes, " B, unlimited"), "MB/s", {}, "O_DIRECT read", {}, true};
  Alternate(
      row, rounds,
      [&] { return static_cast<double>(bytes) / 1e6 / Seconds([&] { Check(store.scrubber().RunCycle()); }); },
      [&] {
        uint64_t read = 0;
        const double seconds = Seconds([&] { read = ReadDirectly(directory + "/db"); });
        return static_cast<double>(read) / 1e6 / seconds;
      });
  table.Print(row);
  // What a cycle spends beside content.
  Row checked{"rows checked against each other, same store", "rows/s", {}, "", {}, true};
  for (int round = 0; round < rounds; ++round) {
    uint64_t count_rows = 0;
    const double seconds = Seconds([&] {
      std::string cursor;
      do {
        absl::StatusOr<RowCheck> check = rows.CheckRows(cursor, 1000);
        Check(check.status());
        count_rows += check->rows;
        cursor = check->next_cursor;
      } while (!cursor.empty());
    });
    checked.samples.push_back(static_cast<double>(count_rows) / seconds);
  }
  table.Print(checked);
  const double wanted = static_cast<double>(bytes) / 4;
  Check(store.scrubber().SetRate(static_cast<uint64_t>(wanted)));
  Row held{absl::StrCat("the same at ", static_cast<uint64_t>(wanted / 1e6), " MB/s"), "MB/s", {}, "rate", {}, true};
  held.samples.push_back(static_cast<double>(bytes) / 1e6 / Seconds([&] { Check(store.scrubber().RunCycle()); }));
  held.control_samples.push_back(wanted / 1e6);
  table.Print(held);
}

int Main(int argc, char** argv) {
  CLI::App app("What a scrub costs beside reading the same files.");
  bool quick = false;
  bool json = false;
  std::string directory;
  app.add_flag("--quick", quick, "End within 30 seconds");
  app.add_flag("--json", json, "One object a line");
  app.add_option("--dir", directory, "Where to write: new, and removed afterwards")->default_val("scrub-bench-data");
  CLI11_PARSE(app, argc, argv);
  if (std::filesystem::exists(directory)) {
    std::fprintf(stderr, "scrub_bench: --dir %s exists; name a directory that is new\n", directory.c_str());
    return 2;
  }
  Table table(json);
  for (const size_t size_bytes : {size_t{11000}, size_t{1} << 20, size_t{64} << 20}) {
    Measure(absl::StrCat(directory, "/", size_bytes), size_bytes, (quick ? 128 : 1024) * kMiB, quick ? 1 : 5, table);
    std::filesystem::remove_all(absl::StrCat(directory, "/", size_bytes));
  }
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace coffer::bench

int main(int argc, char** argv) { return coffer::bench::Main(argc, argv); }
