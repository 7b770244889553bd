// SPDX-License-Identifier: Apache-2.0
//
// The store in this process, each figure beside its control of the same run: a file written with O_DIRECT and
// synced with its directory, or raw RocksDB (the faster of plain and with blob files) in batches of 64 values and
// one sync each.
#include <fcntl.h>
#include <rocksdb/db.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/workload/mail_workload.h"
#include "storage/blob_store.h"
#include "storage/rocks/rocks_engine.h"
#include "tests/bench/table.h"

namespace coffer::bench {
namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;

// Bytes that never repeat: random ones, stamped with a number that goes up.
class Source {
 public:
  Source() : bytes_(64 * kMiB, '\0') {
    uint64_t state = 88172645463325252;
    for (size_t i = 0; i < bytes_.size(); i += 8) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      std::memcpy(&bytes_[i], &state, 8);
    }
  }
  // A fresh blob's bytes, written over `blob`.
  void Fill(std::string& blob, size_t size_bytes) {
    blob.resize(size_bytes);
    const uint64_t number = next_++;
    const size_t from = number * 4096 % (bytes_.size() / 2);
    for (size_t done = 0; done < size_bytes;) {
      const size_t take = std::min(size_bytes - done, bytes_.size() - from);
      std::memcpy(&blob[done], &bytes_[from], take);
      if (take >= 8) std::memcpy(&blob[done], &number, 8);
      done += take;
    }
  }
  absl::string_view piece(size_t size_bytes) const { return absl::string_view(bytes_).substr(0, size_bytes); }
  uint64_t NextNumber() { return next_++; }

 private:
  std::string bytes_;
  std::atomic<uint64_t> next_ = 1;
};

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "storage_bench: %s\n", std::string(status.ToString()).c_str());
  std::exit(1);
}

void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "storage_bench: %s\n", status.ToString().c_str());
  std::exit(1);
}

class StorageBench {
 public:
  StorageBench(std::string directory, double seconds, int rounds, bool json)
      : directory_(std::move(directory)), seconds_(seconds), rounds_(rounds), table_(json), workers_(2) {
    absl::StatusOr<std::unique_ptr<Engine>> engine = OpenRocksEngine({directory_ + "/store"});
    Check(engine.status());
    store_ = std::make_unique<BlobStore>(*std::move(engine), BlobStore::Options{.hash_workers = &workers_});
    plain_ = OpenControl("plain", false);
    blobs_ = OpenControl("blobs", true);
  }

  void SmallPuts(size_t size_bytes) {
    const auto size_of = [&](uint64_t) { return size_bytes; };
    Row row{absl::StrCat("put ", size_bytes, " B, 64 callers, new"), "blobs/s", {}, "RocksDB, batches of 64", {}, true};
    Alternate(
        row, rounds_, [&] { return PutRate(size_of, 64); },
        [&] { return std::max(ControlRate(*plain_, size_of), ControlRate(*blobs_, size_of)); });
    table_.Print(row);
  }

  // Headers and bodies by turns, in the sizes of the mail workload; bodies of more than 64 KiB are no small puts.
  void MailPuts() {
    client::MailWorkload workload(42);
    std::vector<size_t> sizes;
    while (sizes.size() < 1024) {
      const uint64_t size_bytes = sizes.size() % 2 == 0 ? workload.HeaderBytes() : workload.BodyBytes();
      if (size_bytes <= 64 * kKiB) sizes.push_back(size_bytes);
    }
    const auto size_of = [&](uint64_t i) { return sizes[i % sizes.size()]; };
    Row row{"put mail up to 64 KiB, 64 callers, new", "blobs/s", {}, "RocksDB, batches of 64", {}, true};
    Alternate(
        row, rounds_, [&] { return PutRate(size_of, 64); },
        [&] { return std::max(ControlRate(*plain_, size_of), ControlRate(*blobs_, size_of)); });
    table_.Print(row);
  }

  void DuplicatePuts(size_t size_bytes) {
    std::vector<std::string> known(256);
    for (std::string& blob : known) {
      source_.Fill(blob, size_bytes);
      Put(blob);
    }
    Row row{absl::StrCat("put ", size_bytes, " B, 64 callers, known"), "blobs/s", {}, "new ones", {}, true};
    Alternate(
        row, rounds_,
        [&] { return Rate(64, [&](int caller, uint64_t i, std::string&) { Put(known[(caller * 31 + i) % 256]); }); },
        [&] { return PutRate([&](uint64_t) { return size_bytes; }, 64); });
    table_.Print(row);
  }

  void LargePuts(uint64_t size_bytes) {
    Row row{absl::StrCat("put ", size_bytes / kMiB, " MiB, one caller, new"), "MB/s", {}, "O_DIRECT file", {}, true};
    Alternate(
        row, rounds_,
        [&] {
          const int count = static_cast<int>(std::max<uint64_t>(1, 64 * kMiB / size_bytes));
          return count * size_bytes / 1e6 / Seconds([&] {
                   for (int i = 0; i < count; ++i) PutStream(size_bytes);
                 });
        },
        [&] {
          const int count = static_cast<int>(std::max<uint64_t>(1, 64 * kMiB / size_bytes));
          return count * size_bytes / 1e6 / Seconds([&] {
                   for (int i = 0; i < count; ++i) WriteFile(size_bytes);
                 });
        });
    table_.Print(row);
  }

  void RangeReads() {
    constexpr uint64_t kBlobBytes = 256 * kMiB;
    const Digest digest = PutStream(kBlobBytes);
    Row row{"verified range reads of 64 KiB, warm, one caller", "reads/s", {}, "", {}, true};
    std::string out(64 * kKiB, '\0');
    const auto read = [&](uint64_t offset, uint64_t length) {
      absl::StatusOr<std::unique_ptr<BlobReader>> reader = store_->Open({"", digest}, {offset, length});
      Check(reader.status());
      uint64_t total = 0;
      while (true) {
        absl::StatusOr<size_t> got = (*reader)->Read(absl::MakeSpan(&out[0], out.size()));
        Check(got.status());
        if (*got == 0) return total;
        total += *got;
      }
    };
    read(0, 0);
    for (int round = 0; round < rounds_; ++round) {
      row.samples.push_back(Rate(
          1, [&](int, uint64_t i, std::string&) { read((i * 7919 * 4096) % (kBlobBytes - 64 * kKiB), 64 * kKiB); }));
    }
    table_.Print(row);
    Row sequential{"sequential verified read of 256 MiB, warm", "MB/s", {}, "", {}, true};
    for (int round = 0; round < rounds_; ++round) {
      sequential.samples.push_back(kBlobBytes / 1e6 / Seconds([&] { read(0, 0); }));
    }
    table_.Print(sequential);
  }

  void AbsentLookups() {
    Row row{absl::StrCat("look-up of an absent digest, ", store_->GetStatus().totals.blobs, " blobs"),
            "us",
            {},
            "",
            {},
            false};
    for (int round = 0; round < rounds_; ++round) {
      std::vector<Digest> absent(10000);
      for (Digest& digest : absent) {
        const std::string number = absl::StrCat("absent ", source_.NextNumber());
        digest = HashBlob(BytesOf(number));
      }
      row.samples.push_back(Seconds([&] { Check(store_->FindMissing("", absent).status()); }) * 1e6 / absent.size());
    }
    table_.Print(row);
  }

 private:
  std::unique_ptr<rocksdb::DB> OpenControl(const std::string& name, bool blob_files) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.enable_blob_files = blob_files;
    options.min_blob_size = 1024;
    rocksdb::DB* db = nullptr;
    Check(rocksdb::DB::Open(options, directory_ + "/" + name, &db));
    return std::unique_ptr<rocksdb::DB>(db);
  }

  // Calls a second of `work` on `callers` threads; each has a buffer of its own.
  double Rate(int callers, const std::function<void(int, uint64_t, std::string&)>& work) {
    std::atomic<uint64_t> done = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_);
    const double seconds = Seconds([&] {
      std::vector<std::thread> threads;
      for (int caller = 0; caller < callers; ++caller) {
        threads.emplace_back([&, caller] {
          std::string buffer;
          for (uint64_t i = 0; std::chrono::steady_clock::now() < end; ++i, ++done) work(caller, i, buffer);
        });
      }
      for (std::thread& thread : threads) thread.join();
    });
    return done / seconds;
  }

  void Put(absl::string_view content) {
    absl::StatusOr<std::unique_ptr<Upload>> upload = store_->BeginUpload({});
    Check(upload.status());
    Check((*upload)->Append(content));
    Check((*upload)->Commit().status());
  }

  Digest PutStream(uint64_t size_bytes) {
    const std::string stamp = absl::StrCat("blob ", source_.NextNumber());
    absl::StatusOr<std::unique_ptr<Upload>> upload = store_->BeginUpload({});
    Check(upload.status());
    Check((*upload)->Append(stamp));
    for (uint64_t sent = stamp.size(); sent < size_bytes;) {
      const absl::string_view piece = source_.piece(std::min<uint64_t>(kMiB, size_bytes - sent));
      Check((*upload)->Append(piece));
      sent += piece.size();
    }
    absl::StatusOr<PutResult> put = (*upload)->Commit();
    Check(put.status());
    return put->digest;
  }

  // `size_of`: the size of the caller's i-th blob.
  double PutRate(const std::function<size_t(uint64_t i)>& size_of, int callers) {
    return Rate(callers, [&](int caller, uint64_t i, std::string& blob) {
      source_.Fill(blob, size_of(static_cast<uint64_t>(caller) * 17 + i));
      Put(blob);
    });
  }

  double ControlRate(rocksdb::DB& db, const std::function<size_t(uint64_t i)>& size_of) {
    rocksdb::WriteOptions sync;
    sync.sync = true;
    uint64_t written = 0;
    std::string value;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_);
    const double seconds = Seconds([&] {
      while (std::chrono::steady_clock::now() < end) {
        rocksdb::WriteBatch batch;
        for (int i = 0; i < 64; ++i, ++written) {
          source_.Fill(value, size_of(written));
          Check(batch.Put(HashBlob(BytesOf(absl::StrCat(source_.NextNumber()))).ToHex().substr(0, 32), value));
        }
        Check(db.Write(sync, &batch));
      }
    });
    return written / seconds;
  }

  void WriteFile(uint64_t size_bytes) {
    constexpr size_t kAlignment = 4096;
    static char* const buffer = [this] {
      void* aligned = std::aligned_alloc(kAlignment, kMiB);
      std::memcpy(aligned, source_.piece(kMiB).data(), kMiB);
      return static_cast<char*>(aligned);
    }();
    const std::string path = absl::StrCat(directory_, "/file-", source_.NextNumber());
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_DIRECT, 0644);
    if (fd < 0) Check(absl::UnavailableError(path));
    for (uint64_t done = 0; done < size_bytes; done += kMiB) {
      if (write(fd, buffer, kMiB) != static_cast<ssize_t>(kMiB)) Check(absl::UnavailableError(path));
    }
    if (fsync(fd) != 0) Check(absl::UnavailableError(path));
    close(fd);
    const int dir = open(directory_.c_str(), O_RDONLY | O_DIRECTORY);
    if (fsync(dir) != 0) Check(absl::UnavailableError(path));
    close(dir);
    unlink(path.c_str());
  }

  const std::string directory_;
  const double seconds_;
  const int rounds_;
  Table table_;
  WorkerPool workers_;
  Source source_;
  std::unique_ptr<BlobStore> store_;
  std::unique_ptr<rocksdb::DB> plain_;
  std::unique_ptr<rocksdb::DB> blobs_;
};

int Main(int argc, char** argv) {
  CLI::App app("What the store costs beside a raw file and raw RocksDB.");
  bool quick = false;
  bool json = false;
  std::string directory;
  app.add_flag("--quick", quick, "End within 30 seconds");
  app.add_flag("--json", json, "One object a line");
  app.add_option("--dir", directory, "Where to write: new or empty, and removed afterwards")
      ->default_val("storage-bench-data");
  CLI11_PARSE(app, argc, argv);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const bool is_empty = !error && std::filesystem::is_empty(directory, error);
  if (error || !is_empty) {
    std::fprintf(stderr, "storage_bench: --dir %s: %s\n", directory.c_str(),
                 error ? error.message().c_str() : "not empty; name a directory that is new or empty");
    return 2;
  }
  {
    StorageBench bench(directory, quick ? 0.3 : 3, quick ? 1 : 5, json);
    if (getenv("ONLY")) { bench.SmallPuts(atoi(getenv("ONLY"))); return 0; }
    for (const size_t size : {size_t{1} * kKiB, size_t{11000}, 64 * kKiB}) bench.SmallPuts(size);
    bench.MailPuts();
    bench.DuplicatePuts(11000);
    for (const uint64_t mib : {1, 8, 64}) bench.LargePuts(mib * kMiB);
    if (!quick) bench.LargePuts(1024 * kMiB);
    bench.RangeReads();
    bench.AbsentLookups();
  }
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace coffer::bench

int main(int argc, char** argv) { return coffer::bench::Main(argc, argv); }
