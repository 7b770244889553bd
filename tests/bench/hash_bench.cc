// SPDX-License-Identifier: Apache-2.0
// How fast coffer hashes, beside the implementations people know, in one run:
//   hash_bench [--quick] [--json] [--only SUBSTRING] [--file-mib N]
// Every row times coffer and a control in turns and prints medians; a ratio above 1 means that coffer is
// faster. Serial rows are pinned to one core. Left out on purpose: KangarooTwelve, SHA-512/256 and the JVM's
// providers, which no Debian package brings as a C library.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "client/workload/mail_workload.h"
#include "hashing/batch_hasher.h"
#include "hashing/hasher.h"
#include "hashing/kernel.h"
#include "hashing/subtree.h"
#include "hashing/tree_hasher.h"
#include "tests/bench/hash_peers.h"
#include "tests/bench/timed_rows.h"

namespace coffer::bench {
namespace {

constexpr size_t kUnalignedPieceBytes = 60 * 1024 + 7;

const std::vector<uint8_t>& Data() {
  static const std::vector<uint8_t>* const data = [] {
    auto* bytes = new std::vector<uint8_t>(100 << 20);
    std::mt19937_64 random(1);
    for (size_t i = 0; i + 8 <= bytes->size(); i += 8) {
      const uint64_t word = random();
      std::memcpy(bytes->data() + i, &word, 8);
    }
    return bytes;
  }();
  return *data;
}

ByteSpan DataOf(size_t size_bytes, size_t offset = 0) { return ByteSpan(Data()).subspan(offset, size_bytes); }

void HashOne(ByteSpan bytes) { Consume(HashBlob(bytes).data()[0]); }

void HashTree(WorkerPool* pool, ByteSpan bytes, size_t piece_bytes, bool with_sink) {
  ParentSink sink;
  if (with_sink) sink = [](int, const ParentNode& node) { Consume(node.left.data()[0]); };
  TreeHasher hasher(pool, std::move(sink));
  for (size_t at = 0; at < bytes.size(); at += piece_bytes) hasher.Append(bytes.subspan(at, piece_bytes));
  Consume(hasher.Finish().data()[0]);
}

bool Among(const std::string& name, std::initializer_list<const char*> algorithms) {
  return std::any_of(algorithms.begin(), algorithms.end(),
                     [&](const char* algorithm) { return name.rfind(std::string(algorithm) + " ", 0) == 0; });
}

// `ours` beside the official BLAKE3 and the other peers named, all over the same message.
void AgainstPeers(TimedRows& table, const std::string& name, ByteSpan bytes, const std::function<void()>& ours,
                  std::initializer_list<const char*> algorithms) {
  if (const Peer* official = OfficialBlake3()) {
    table.Add(name, ours, official->name, [&] { official->hash(bytes); });
  }
  for (const Peer& peer : OtherPeers()) {
    if (Among(peer.name, algorithms)) table.Add(name, ours, peer.name, [&] { peer.hash(bytes); });
  }
}

void OneShots(TimedRows& table) {
  table.Section("One message in memory, one thread");
  for (size_t size : {4, 100, 1000, 10000, 65536, 100000, 131072, 262144, 524288, 1000000, 10000000}) {
    const ByteSpan bytes = DataOf(size);
    AgainstPeers(table, "oneshot/" + std::to_string(size), bytes, [&] { HashOne(bytes); }, {"blake2b", "sha256"});
  }
  table.Section("One message in memory, one thread: sizes around chunks and groups");
  for (size_t size : {64, 256, 512, 1024, 1025, 2048, 3072, 4096, 6000, 8192, 11264, 15360, 16384, 20000, 32768}) {
    const ByteSpan bytes = DataOf(size);
    AgainstPeers(table, "oneshot/" + std::to_string(size), bytes, [&] { HashOne(bytes); }, {});
  }
}

void Parallel(TimedRows& table, const Options& options) {
  Unpin();
  const int threads = static_cast<int>(std::thread::hardware_concurrency());
  WorkerPool pool(threads);
  table.Section("One message in memory, " + std::to_string(threads) + " workers");
  for (size_t size : {131072, 262144, 524288, 1000000, 10000000, 100000000}) {
    if (options.quick && size > 10000000) continue;
    const ByteSpan bytes = DataOf(size);
    const std::string name = "parallel/" + std::to_string(size);
    AgainstPeers(table, name, bytes, [&] { HashTree(&pool, bytes, size, false); }, {"sha256"});
    table.Add(
        name, [&] { HashTree(&pool, bytes, size, false); }, "coffer one thread", [&] { HashOne(bytes); });
  }
  table.Section("A stream of unaligned 60 KiB pieces, " + std::to_string(threads) + " workers, beside one buffer");
  for (size_t size : {1000000, 10000000, 100000000}) {
    if (options.quick && size > 10000000) continue;
    const ByteSpan bytes = DataOf(size);
    table.Add(
        "pieces/" + std::to_string(size), [&] { HashTree(&pool, bytes, kUnalignedPieceBytes, false); },
        "coffer one buffer", [&] { HashTree(&pool, bytes, size, false); });
  }
  PinToOneCore();
  table.Section("The outboard made while hashing, one thread, beside hashing without");
  for (size_t size : {1000000, 10000000}) {
    const ByteSpan bytes = DataOf(size);
    table.Add(
        "outboard/" + std::to_string(size), [&] { HashTree(nullptr, bytes, size, true); }, "coffer, no outboard",
        [&] { HashTree(nullptr, bytes, size, false); });
  }
}

// Nanoseconds a message while two threads hash one after the other, each its own.
double TwoThreadsNs(size_t size, size_t messages) {
  std::atomic<int> ready{0};
  const auto work = [&](size_t offset) {
    ++ready;
    while (ready < 2) std::this_thread::yield();
    for (size_t i = 0; i < messages; ++i) HashOne(DataOf(size, offset));
  };
  std::thread other([&] { work(size); });
  const double start = NowNs();
  work(0);
  other.join();
  return (NowNs() - start) / static_cast<double>(2 * messages);
}

void TwoWorkers(TimedRows& table, const Options& options) {
  Unpin();
  table.Section("Two workers on one message, beside two independent threads on a message each (ns a message)");
  WorkerPool pool(2);
  for (size_t size : {1000000, 10000000, 50000000}) {
    const std::string name = "two-workers/" + std::to_string(size);
    if (!table.Wants(name)) continue;
    const size_t messages = std::max<size_t>(1, (options.quick ? 20000000 : 100000000) / size);
    const auto ours = [&] {
      const double start = NowNs();
      for (size_t i = 0; i < messages; ++i) HashTree(&pool, DataOf(size), size, false);
      return (NowNs() - start) / static_cast<double>(messages);
    };
    table.AddTimes(name, options.quick ? 5 : 15, ours, "two threads",
                   [&] { return TwoThreadsNs(size, (messages + 1) / 2); });
  }
  PinToOneCore();
}

// One stream of `times` pieces through Hasher.
void HashStream(ByteSpan piece, size_t times) {
  Hasher hasher;
  for (size_t i = 0; i < times; ++i) hasher.Update(piece);
  Consume(hasher.Finalize().data()[0]);
}

void Streams(TimedRows& table, const Options& options) {
  struct Case {
    const char* name;
    size_t piece_bytes;
    size_t times;
  };
  for (const Case& c : {Case{"updates/64KiB-x-1000", 64 << 10, 1000}, Case{"updates/512KiB-x-20", 512 << 10, 20}}) {
    table.Section(std::string("Long streams on one thread: ") + c.name);
    const size_t times = options.quick ? c.times / 10 : c.times;
    const ByteSpan piece = DataOf(c.piece_bytes);
    const Kernel& fastest = ActiveKernel();
    for (const Kernel* kernel : AllKernels()) {
      if (!kernel->supported() || OfficialBlake3() == nullptr) continue;
      SetActiveKernel(*kernel);
      table.Add(
          std::string(c.name) + "/" + kernel->name, [&] { HashStream(piece, times); }, "blake3 official",
          [&] { HashStreamOfficially(piece, times); });
    }
    SetActiveKernel(fastest);
    for (const Peer& peer : OtherPeers()) {
      if (!Among(peer.name, {"sha1", "sha256", "sha3-256", "blake2s", "blake2b"})) continue;
      // A stream of pieces costs these no more and no less than as many messages of a piece.
      table.Add(
          std::string(c.name) + "/" + std::string(fastest.name), [&] { HashStream(piece, times); }, peer.name,
          [&] {
            for (size_t i = 0; i < times; ++i) peer.hash(piece);
          });
    }
  }
}

void Messages(TimedRows& table) {
  table.Section("Messages one by one, one thread, against many algorithms");
  for (size_t size : {5000000, 1024, 10}) {
    const ByteSpan bytes = DataOf(size);
    AgainstPeers(table, "message/" + std::to_string(size), bytes, [&] { HashOne(bytes); },
                 {"md5", "sha1", "sha256", "sha512", "sha3-256", "blake2b", "blake2s", "ripemd160", "xxh3-128"});
  }
}

// `blobs` in one batch, beside the official BLAKE3 one by one (ns a batch).
void BatchRow(TimedRows& table, const std::string& name, const std::vector<ByteSpan>& blobs) {
  std::vector<Digest> digests(blobs.size());
  const auto ours = [&] {
    HashBatch(blobs, absl::MakeSpan(digests));
    Consume(digests[0].data()[0]);
  };
  std::vector<const Peer*> peers;
  if (OfficialBlake3() != nullptr) peers.push_back(OfficialBlake3());
  for (const Peer& peer : OtherPeers()) {
    if (Among(peer.name, {"sha256"})) peers.push_back(&peer);
  }
  for (const Peer* peer : peers) {
    table.Add(name, ours, peer->name, [&] {
      for (ByteSpan blob : blobs) peer->hash(blob);
    });
  }
}

void Batches(TimedRows& table) {
  table.Section("Batches of 64 messages, one thread (ns a batch)");
  for (size_t size : {10, 100, 1000, 1024, 4096, 11264, 16384}) {
    std::vector<ByteSpan> blobs;
    for (size_t i = 0; i < 64; ++i) blobs.push_back(DataOf(size, i * size));
    BatchRow(table, "batch64/" + std::to_string(size), blobs);
  }
  // Headers and bodies by turns, those up to 64 KiB.
  client::MailWorkload workload(42);
  std::vector<ByteSpan> mails;
  while (mails.size() < 64) {
    const uint64_t size = mails.size() % 2 == 0 ? workload.HeaderBytes() : workload.BodyBytes();
    if (size <= 65536) mails.push_back(DataOf(size, mails.size() * 65536));
  }
  BatchRow(table, "batch64/mail", mails);
}

// `threads` threads each run `work` `times` times; ns a run.
double ThreadsNs(int threads, size_t times, const std::function<void()>& work) {
  std::vector<std::thread> running;
  const double start = NowNs();
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      for (size_t j = 0; j < times; ++j) work();
    });
  }
  for (std::thread& thread : running) thread.join();
  return (NowNs() - start) / static_cast<double>(times) / threads;
}

void ElevenKib(TimedRows& table, const Options& options) {
  Unpin();
  constexpr size_t kSize = 11 << 10;
  constexpr size_t kBatch = 64;
  const ByteSpan bytes = DataOf(kSize);
  const std::vector<ByteSpan> blobs(kBatch, bytes);
  const auto batch = [&] {
    std::array<Digest, kBatch> digests;
    HashBatch(blobs, absl::MakeSpan(digests));
    Consume(digests[0].data()[0]);
  };
  std::vector<const Peer*> peers;
  if (OfficialBlake3() != nullptr) peers.push_back(OfficialBlake3());
  for (const Peer& peer : OtherPeers()) {
    // OpenSSL's peer has one context and stays on one thread.
    if (Among(peer.name, {"blake2b"}) && peer.name != "blake2b openssl") peers.push_back(&peer);
  }
  for (int threads : {1, 4}) {
    table.Section("Messages of 11 KiB on " + std::to_string(threads) + " threads (ns a message)");
    for (const char* way : {"one-by-one", "batched"}) {
      const std::string name = "11KiB/" + std::to_string(threads) + "-threads/" + way;
      if (!table.Wants(name)) continue;
      const bool batched = std::strcmp(way, "batched") == 0;
      for (const Peer* peer : peers) {
        const size_t times = options.quick ? 3000 : 20000;
        const auto ours = [&] {
          return batched ? ThreadsNs(threads, times / kBatch, batch) / kBatch
                         : ThreadsNs(threads, times, [&] { HashOne(bytes); });
        };
        table.AddTimes(name, options.quick ? 3 : 9, ours, peer->name,
                       [&] { return ThreadsNs(threads, times, [&] { peer->hash(bytes); }); });
      }
    }
  }
  PinToOneCore();
}

// Nanoseconds that a command takes, its start included.
double CommandNs(const std::string& command) {
  const double start = NowNs();
  if (std::system((command + " >/dev/null").c_str()) != 0) {
    std::fprintf(stderr, "hash_bench: %s failed\n", command.c_str());
  }
  return NowNs() - start;
}

void Files(TimedRows& table, const Options& options, size_t file_mib) {
  const std::string name = "file/" + std::to_string(file_mib) + "MiB";
  if (!table.Wants(name)) return;
  if (std::system("command -v b3sum >/dev/null") != 0) {
    std::fprintf(stderr, "hash_bench: without b3sum (not installed): no rows for files\n");
    return;
  }
  table.Section("A file in the page cache, all cores, beside b3sum");
  std::string path = "/tmp/hash_bench_XXXXXX";
  const int file = ::mkstemp(path.data());
  for (size_t i = 0; i < file_mib; ++i) {
    const ByteSpan part = DataOf(1 << 20, i % 100 << 20);
    if (::write(file, part.data(), part.size()) != static_cast<ssize_t>(part.size())) std::perror("hash_bench: write");
  }
  ::close(file);
  Unpin();
  // The coffer that was built beside this program.
  const std::string coffer = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "coffer";
  table.AddTimes(
      name, options.quick ? 3 : 7, [&] { return CommandNs(coffer + " hash " + path); }, "b3sum",
      [&] { return CommandNs("b3sum " + path); });
  ::unlink(path.c_str());
  PinToOneCore();
}

void Run(const Options& options, size_t file_mib) {
  if (!options.json) {
    std::printf("kernel %s, %u cores\n", ActiveKernel().name, std::thread::hardware_concurrency());
    for (const std::string& missing : MissingPeers()) std::printf("without %s\n", missing.c_str());
  }
  TimedRows table(options);
  PinToOneCore();
  OneShots(table);
  Batches(table);
  Parallel(table, options);
  TwoWorkers(table, options);
  ElevenKib(table, options);
  Streams(table, options);
  Messages(table);
  Files(table, options, file_mib);
}

}  // namespace
}  // namespace coffer::bench

int main(int argc, char** argv) {
  coffer::bench::Options options;
  size_t file_mib = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--quick") {
      options.quick = true;
    } else if (arg == "--json") {
      options.json = true;
    } else if (arg == "--only" && i + 1 < argc) {
      options.only = argv[++i];
    } else if (arg == "--file-mib" && i + 1 < argc) {
      file_mib = std::strtoul(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: hash_bench [--quick] [--json] [--only SUBSTRING] [--file-mib N]\n");
      return 2;
    }
  }
  if (file_mib == 0) file_mib = options.quick ? 256 : 2048;
  coffer::bench::Run(options, file_mib);
  return 0;
}
