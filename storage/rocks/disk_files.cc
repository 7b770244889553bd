// SPDX-License-Identifier: Apache-2.0
//
//   1. A file is read in windows of kWindowBytes, each into an aligned buffer of its own; a few are kept, so that going
//      back a little costs nothing.
//   2. When a window is used whose predecessor was used before, a thread reads the next one meanwhile.
#include "storage/rocks/disk_files.h"

#include <rocksdb/file_system.h>

#include <algorithm>
#include <array>
#include <asio/post.hpp>
#include <asio/thread_pool.hpp>
#include <cstdlib>
#include <cstring>
#include <future>
#include <limits>
#include <string>
#include <utility>

namespace coffer::rocks {
namespace {

using rocksdb::FSRandomAccessFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// Long enough that a disk is near its best speed, and a whole number of blocks of every disk.
constexpr size_t kWindowBytes = size_t{1} << 20;
constexpr size_t kAlignmentBytes = 4096;
// One in use, one being read, and two behind: the tree of a segment of 1 MiB stands after its content.
constexpr size_t kWindows = 4;
constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

struct Free {
  void operator()(char* bytes) const { std::free(bytes); }
};

struct Window {
  uint64_t index = kNone;
  uint64_t last_use = 0;
  size_t size_bytes = 0;
  std::unique_ptr<char, Free> bytes;
  // Valid while it is being read.
  std::future<IOStatus> read;
};

class DiskFile : public FSRandomAccessFile {
 public:
  DiskFile(std::unique_ptr<FSRandomAccessFile> disk, bool is_direct, asio::thread_pool& threads)
      : disk_(std::move(disk)), is_direct_(is_direct), threads_(threads) {}

  ~DiskFile() override {
    for (Window& window : windows_) Await(window).PermitUncheckedError();
  }

  IOStatus Read(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) const override {
    size_t done = 0;
    while (done < n) {
      const uint64_t index = (offset + done) / kWindowBytes;
      Window& window = Find(index);
      if (IOStatus status = Await(window); !status.ok()) return status;
      const size_t begin = (offset + done) % kWindowBytes;
      if (begin >= window.size_bytes) break;
      const size_t take = std::min(n - done, window.size_bytes - begin);
      std::memcpy(scratch + done, window.bytes.get() + begin, take);
      done += take;
    }
    *result = Slice(scratch, done);
    return IOStatus::OK();
  }

 private:
  Window* Held(uint64_t index) const {
    const auto held = std::find_if(windows_.begin(), windows_.end(), [&](const Window& w) { return w.index == index; });
    return held == windows_.end() ? nullptr : &*held;
  }

  // The window, which is being read or was.
  Window& Find(uint64_t index) const {
    Window* window = Held(index);
    if (window == nullptr) window = &Start(index);
    window->last_use = ++uses_;
    const bool goes_forward = index > 0 && Held(index - 1) != nullptr;
    const bool may_be_last = window->read.valid() ? false : window->size_bytes < kWindowBytes;
    if (goes_forward && !may_be_last && Held(index + 1) == nullptr) Start(index + 1).last_use = uses_;
    return *window;
  }

  // Begins to read into the window that was not used for longest.
  Window& Start(uint64_t index) const {
    Window& window = *std::min_element(windows_.begin(), windows_.end(),
                                       [](const Window& a, const Window& b) { return a.last_use < b.last_use; });
    Await(window).PermitUncheckedError();
    if (window.bytes == nullptr) {
      window.bytes.reset(static_cast<char*>(std::aligned_alloc(kAlignmentBytes, kWindowBytes)));
    }
    window.index = index;
    std::promise<IOStatus> done;
    window.read = done.get_future();
    asio::post(threads_, [this, &window, done = std::move(done)]() mutable { done.set_value(ReadWindow(window)); });
    return window;
  }

  IOStatus ReadWindow(Window& window) const {
    const uint64_t offset = window.index * kWindowBytes;
    if (!is_direct_) disk_->InvalidateCache(offset, kWindowBytes).PermitUncheckedError();
    Slice result;
    IOStatus status = disk_->Read(offset, kWindowBytes, IOOptions(), &result, window.bytes.get(), nullptr);
    if (!status.ok()) return status;
    if (result.data() != window.bytes.get()) std::memmove(window.bytes.get(), result.data(), result.size());
    window.size_bytes = result.size();
    return status;
  }

  // A window whose reading failed is read again when it is asked for again.
  IOStatus Await(Window& window) const {
    if (!window.read.valid()) return IOStatus::OK();
    IOStatus status = window.read.get();
    if (!status.ok()) window.index = kNone;
    return status;
  }

  const std::unique_ptr<FSRandomAccessFile> disk_;
  const bool is_direct_;
  asio::thread_pool& threads_;
  mutable uint64_t uses_ = 0;
  mutable std::array<Window, kWindows> windows_;
};

class DiskFiles : public rocksdb::FileSystemWrapper {
 public:
  explicit DiskFiles(const std::shared_ptr<rocksdb::FileSystem>& base) : FileSystemWrapper(base) {}
  ~DiskFiles() override { threads_.join(); }

  const char* Name() const override { return "CofferDiskFiles"; }

  IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* file, IODebugContext* context) override {
    rocksdb::FileOptions direct = options;
    direct.use_direct_reads = true;
    direct.use_mmap_reads = false;
    std::unique_ptr<FSRandomAccessFile> disk;
    bool is_direct = true;
    IOStatus status = FileSystemWrapper::NewRandomAccessFile(path, direct, &disk, context);
    if (!status.ok() && !status.IsPathNotFound()) {
      is_direct = false;
      direct.use_direct_reads = false;
      status = FileSystemWrapper::NewRandomAccessFile(path, direct, &disk, context);
    }
    if (status.ok()) *file = std::make_unique<DiskFile>(std::move(disk), is_direct, threads_);
    return status;
  }

 private:
  // One reads ahead for the thread that scrubs, and one for the look at a suspect beside it.
  asio::thread_pool threads_{2};
};

}  // namespace

std::unique_ptr<rocksdb::Env> NewDiskEnv(rocksdb::Env* base) {
  return rocksdb::NewCompositeEnv(std::make_shared<DiskFiles>(base->GetFileSystem()));
}

}  // namespace coffer::rocks
