// SPDX-License-Identifier: Apache-2.0
//
//   1. Append copies into an aligned buffer.
//   2. A full buffer is handed to a writing thread, which writes one after the other while the next is filled.
//   3. Sync waits for them, writes the rest padded to the disk's alignment, cuts the padding off, and syncs.
#include "storage/rocks/staging_files.h"

#include <rocksdb/file_system.h>

#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <cstring>
#include <deque>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace coffer::rocks {
namespace {

using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

constexpr size_t kBufferBytes = BufferStock::kBufferBytes;
constexpr size_t kAlignmentBytes = BufferStock::kAlignmentBytes;
// Enough to keep a disk busy.
constexpr size_t kWritingThreads = 4;
// Buffers of a file that wait to be written: the thread that writes never waits for the one that fills.
constexpr size_t kMaxWaiting = 3;

class StagingFile : public FSWritableFile {
 public:
  StagingFile(std::unique_ptr<FSWritableFile> disk, BufferStock& stock, asio::thread_pool& threads)
      : disk_(std::move(disk)), stock_(stock), in_turn_(threads.get_executor()), filling_(stock.Take()) {}

  ~StagingFile() override {
    AwaitAllBut(0).PermitUncheckedError();
    stock_.Give(std::move(filling_));
  }

  IOStatus Append(const Slice& data, const IOOptions&, IODebugContext*) override {
    for (size_t done = 0; done < data.size();) {
      const size_t take = std::min(data.size() - done, kBufferBytes - filled_bytes_);
      std::memcpy(filling_.get() + filled_bytes_, data.data() + done, take);
      filled_bytes_ += take;
      done += take;
      if (filled_bytes_ < kBufferBytes) continue;
      if (IOStatus status = AwaitAllBut(kMaxWaiting - 1); !status.ok()) return status;
      Start();
      offset_bytes_ += kBufferBytes;
      filled_bytes_ = 0;
      rest_written_bytes_ = 0;
    }
    return IOStatus::OK();
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* context) override {
    return Append(data, options, context);
  }

  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }
  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return offset_bytes_ + filled_bytes_; }

  IOStatus Sync(const IOOptions& options, IODebugContext* context) override {
    IOStatus status = WriteRest(options, context);
    return status.ok() ? disk_->Sync(options, context) : status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    IOStatus status = WriteRest(options, context);
    return status.ok() ? disk_->Fsync(options, context) : status;
  }
  IOStatus Close(const IOOptions& options, IODebugContext* context) override {
    IOStatus status = WriteRest(options, context);
    IOStatus closed = disk_->Close(options, context);
    return status.ok() ? closed : status;
  }

 private:
  struct Waiting {
    BufferStock::Buffer buffer;
    std::future<IOStatus> written;
  };

  // Hands over what is filled.
  void Start() {
    std::promise<IOStatus> written;
    waiting_.push_back({std::exchange(filling_, stock_.Take()), written.get_future()});
    asio::post(in_turn_, [disk = disk_.get(), bytes = waiting_.back().buffer.get(), offset = offset_bytes_,
                          written = std::move(written)]() mutable {
      written.set_value(disk->PositionedAppend(Slice(bytes, kBufferBytes), offset, IOOptions(), nullptr));
    });
  }

  // Waits until no more than `count` buffers wait to be written. After a failure every call fails.
  IOStatus AwaitAllBut(size_t count) {
    while (waiting_.size() > count) {
      IOStatus status = waiting_.front().written.get();
      if (failure_.ok()) failure_ = std::move(status);
      stock_.Give(std::move(waiting_.front().buffer));
      waiting_.pop_front();
    }
    return failure_;
  }

  // Keeps the rest in its buffer, so that an Append may still follow: it is written again with what comes then.
  IOStatus WriteRest(const IOOptions& options, IODebugContext* context) {
    if (IOStatus status = AwaitAllBut(0); !status.ok()) return status;
    if (filled_bytes_ == rest_written_bytes_) return IOStatus::OK();
    const size_t padded_bytes = (filled_bytes_ + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
    std::memset(filling_.get() + filled_bytes_, 0, padded_bytes - filled_bytes_);
    failure_ = disk_->PositionedAppend(Slice(filling_.get(), padded_bytes), offset_bytes_, options, context);
    if (failure_.ok()) failure_ = disk_->Truncate(offset_bytes_ + filled_bytes_, options, context);
    rest_written_bytes_ = filled_bytes_;
    return failure_;
  }

  const std::unique_ptr<FSWritableFile> disk_;
  BufferStock& stock_;
  asio::strand<asio::thread_pool::executor_type> in_turn_;
  BufferStock::Buffer filling_;
  std::deque<Waiting> waiting_;
  // Where filling_ begins in the file, and how much of it is filled.
  uint64_t offset_bytes_ = 0;
  size_t filled_bytes_ = 0;
  size_t rest_written_bytes_ = 0;
  IOStatus failure_;
};

class StagingFiles : public rocksdb::FileSystemWrapper {
 public:
  StagingFiles(const std::shared_ptr<rocksdb::FileSystem>& base, BufferStock& stock)
      : FileSystemWrapper(base), stock_(stock) {}
  ~StagingFiles() override { threads_.join(); }

  const char* Name() const override { return "CofferStagingFiles"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file, IODebugContext* context) override {
    rocksdb::FileOptions direct = options;
    direct.use_direct_writes = true;
    std::unique_ptr<FSWritableFile> disk;
    IOStatus status = FileSystemWrapper::NewWritableFile(path, direct, &disk, context);
    if (!status.ok()) status = FileSystemWrapper::NewWritableFile(path, options, &disk, context);
    if (status.ok()) *file = std::make_unique<StagingFile>(std::move(disk), stock_, threads_);
    return status;
  }

 private:
  BufferStock& stock_;
  asio::thread_pool threads_{kWritingThreads};
};

}  // namespace

std::unique_ptr<rocksdb::Env> NewStagingEnv(rocksdb::Env* base, BufferStock& stock) {
  return rocksdb::NewCompositeEnv(std::make_shared<StagingFiles>(base->GetFileSystem(), stock));
}

}  // namespace coffer::rocks
