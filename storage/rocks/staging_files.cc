// SPDX-License-Identifier: Apache-2.0
//
//   1. Append copies into an aligned buffer.
//   2. A full buffer is handed to a writing thread; the next one is filled meanwhile. At most one is being written.
//   3. Sync waits for it, writes the rest padded to the disk's alignment, cuts the padding off, and syncs.
#include "storage/rocks/staging_files.h"

#include <rocksdb/file_system.h>

#include <asio/post.hpp>
#include <asio/thread_pool.hpp>
#include <cstring>
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
// Enough to keep a disk busy; a put has one buffer under way.
constexpr size_t kWritingThreads = 4;

class StagingFile : public FSWritableFile {
 public:
  StagingFile(std::unique_ptr<FSWritableFile> disk, BufferStock& stock, asio::thread_pool& threads)
      : disk_(std::move(disk)), stock_(stock), threads_(threads), filling_(stock.Take()), writing_(stock.Take()) {}

  ~StagingFile() override {
    Await().PermitUncheckedError();
    stock_.Give(std::move(filling_));
    stock_.Give(std::move(writing_));
  }

  IOStatus Append(const Slice& data, const IOOptions&, IODebugContext*) override {
    for (size_t done = 0; done < data.size();) {
      const size_t take = std::min(data.size() - done, kBufferBytes - filled_bytes_);
      std::memcpy(filling_.get() + filled_bytes_, data.data() + done, take);
      filled_bytes_ += take;
      done += take;
      if (filled_bytes_ < kBufferBytes) continue;
      if (IOStatus status = Await(); !status.ok()) return status;
      std::swap(filling_, writing_);
      Start();
      offset_bytes_ += kBufferBytes;
      filled_bytes_ = 0;
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
  void Start() {
    std::promise<IOStatus> written;
    written_ = written.get_future();
    asio::post(threads_, [disk = disk_.get(), bytes = writing_.get(), offset = offset_bytes_,
                          written = std::move(written)]() mutable {
      written.set_value(disk->PositionedAppend(Slice(bytes, kBufferBytes), offset, IOOptions(), nullptr));
    });
  }

  // Waits for the buffer that is being written. After a failure every call fails.
  IOStatus Await() {
    if (!written_.valid()) return failure_;
    failure_ = written_.get();
    return failure_;
  }

  // Keeps the rest in its buffer, so that an Append may still follow: it is written again with what comes then.
  IOStatus WriteRest(const IOOptions& options, IODebugContext* context) {
    if (IOStatus status = Await(); !status.ok()) return status;
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
  asio::thread_pool& threads_;
  BufferStock::Buffer filling_;
  BufferStock::Buffer writing_;
  // Where filling_ begins in the file, and how much of it is filled.
  uint64_t offset_bytes_ = 0;
  size_t filled_bytes_ = 0;
  size_t rest_written_bytes_ = 0;
  std::future<IOStatus> written_;
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
