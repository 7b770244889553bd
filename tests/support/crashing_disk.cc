// SPDX-License-Identifier: Apache-2.0
#include "tests/support/crashing_disk.h"

#include <algorithm>
#include <cstdarg>
#include <mutex>
#include <utility>

namespace coffer {
namespace {

using rocksdb::DataVerificationInfo;
using rocksdb::DirFsyncOptions;
using rocksdb::FileOptions;
using rocksdb::FSDirectory;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

using Call = CrashingDisk::Call;

bool Matches(const CrashingDisk::Point& point, Call call, const std::string& path) {
  return point.call.value_or(call) == call && path.ends_with(point.suffix);
}

// Says of each call whether it takes place. Its mutex is held while one does, so a loss falls between two calls.
class Fate {
 public:
  explicit Fate(DiskImage& image) : image_(image) {}

  std::mutex& mutex() { return mutex_; }

  // All below: with the mutex held.
  IOStatus Next(Call call, const std::string& path) {
    if (lost_) return Lost();
    ++calls_;
    if (loss_.has_value() && Matches(*loss_, call, path) && loss_->passing-- == 0) Lose();
    if (lost_) return Lost();
    if (!error_.ok() && Matches(failure_, call, path)) {
      if (failure_.passing == 0) return error_;
      --failure_.passing;
    }
    return IOStatus::OK();
  }
  // For calls that change nothing durable.
  IOStatus Powered() const { return lost_ ? Lost() : IOStatus::OK(); }

  void Lose() {
    if (lost_) return;
    lost_ = true;
    image_.Take();
  }
  void PowerOn() {
    lost_ = false;
    loss_.reset();
  }
  void LoseAt(const CrashingDisk::Point& point) { loss_ = point; }
  void FailFrom(const CrashingDisk::Point& point, const IOStatus& error) {
    failure_ = point;
    error_ = error;
  }
  bool lost() const { return lost_; }
  uint64_t calls() const { return calls_; }

 private:
  static IOStatus Lost() { return IOStatus::IOError("the power is off"); }

  std::mutex mutex_;
  DiskImage& image_;
  bool lost_ = false;
  std::optional<CrashingDisk::Point> loss_;
  CrashingDisk::Point failure_;
  IOStatus error_;
  uint64_t calls_ = 0;
};

class WrittenFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WrittenFile(std::unique_ptr<FSWritableFile> file, std::string path, std::shared_ptr<FileState> state, Fate& fate)
      : FSWritableFileOwnerWrapper(std::move(file)), path_(std::move(path)), state_(std::move(state)), fate_(fate) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* context) override {
    return Write(state_->size_bytes + data.size(), [&] { return target()->Append(data, options, context); });
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const DataVerificationInfo& verification,
                  IODebugContext* context) override {
    return Write(state_->size_bytes + data.size(),
                 [&] { return target()->Append(data, options, verification, context); });
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            IODebugContext* context) override {
    return Write(offset + data.size(), [&] { return target()->PositionedAppend(data, offset, options, context); });
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            const DataVerificationInfo& verification, IODebugContext* context) override {
    return Write(offset + data.size(),
                 [&] { return target()->PositionedAppend(data, offset, options, verification, context); });
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* context) override {
    std::lock_guard lock(fate_.mutex());
    IOStatus status = fate_.Next(Call::kWrite, path_);
    if (status.ok()) status = target()->Truncate(size, options, context);
    if (status.ok()) state_->CutAt(size);
    return status;
  }
  // What is durable is followed here, so the real disk needs no sync.
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    std::lock_guard lock(fate_.mutex());
    IOStatus status = fate_.Next(Call::kSync, path_);
    if (status.ok()) state_->synced_bytes = state_->size_bytes;
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override { return Sync(options, context); }
  // Promises nothing, so it makes nothing durable.
  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  // Reserving space would fill a file system in memory.
  void PrepareWrite(size_t, size_t, const IOOptions&, IODebugContext*) override {}
  IOStatus Allocate(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Close(const IOOptions& options, IODebugContext* context) override {
    std::lock_guard lock(fate_.mutex());
    IOStatus closed = target()->Close(options, context);
    IOStatus status = fate_.Powered();
    return status.ok() ? closed : status;
  }

 private:
  template <typename Real>
  IOStatus Write(uint64_t end, Real&& real) {
    std::lock_guard lock(fate_.mutex());
    IOStatus status = fate_.Next(Call::kWrite, path_);
    if (status.ok()) status = real();
    if (status.ok()) state_->size_bytes = std::max(state_->size_bytes, end);
    return status;
  }

  const std::string path_;
  const std::shared_ptr<FileState> state_;
  Fate& fate_;
};

class SyncedDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  SyncedDirectory(std::unique_ptr<FSDirectory> directory, std::string path, DiskImage& image, Fate& fate)
      : FSDirectoryWrapper(std::move(directory)),
        path_(std::move(path)),
        id_(DiskImage::DirectoryAt(path_)),
        image_(image),
        fate_(fate) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    std::lock_guard lock(fate_.mutex());
    IOStatus status = fate_.Next(Call::kDirectorySync, path_);
    if (status.ok()) image_.SyncDirectory(id_);
    return status;
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* context, const DirFsyncOptions&) override {
    return Fsync(options, context);
  }

 private:
  const std::string path_;
  // The directory itself: its path may change.
  const DirectoryId id_;
  DiskImage& image_;
  Fate& fate_;
};

class SilentLogger : public rocksdb::Logger {
 public:
  using Logger::Logv;
  void Logv(const char*, va_list) override {}
  size_t GetLogFileSize() const override { return 0; }
};

}  // namespace

class CrashingDisk::Files : public rocksdb::FileSystemWrapper {
 public:
  explicit Files(std::string directory)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), image(std::move(directory)), fate(image) {}

  const char* Name() const override { return "CrashingDisk"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options, std::unique_ptr<FSWritableFile>* file,
                           IODebugContext* context) override {
    std::lock_guard lock(fate.mutex());
    IOStatus status = fate.Next(Call::kCreate, path);
    if (!status.ok()) return status;
    image.BeforeCreate(path);
    status = target()->NewWritableFile(path, options, file, context);
    if (status.ok()) *file = std::make_unique<WrittenFile>(std::move(*file), path, image.Created(path), fate);
    return status;
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* file, IODebugContext* context) override {
    std::lock_guard lock(fate.mutex());
    IOStatus status = fate.Powered();
    if (!status.ok()) return status;
    const bool exists = target()->FileExists(path, options.io_options, context).ok();
    if (!exists) status = fate.Next(Call::kCreate, path);
    if (status.ok()) status = target()->ReopenWritableFile(path, options, file, context);
    if (!status.ok()) return status;
    *file =
        std::make_unique<WrittenFile>(std::move(*file), path, exists ? image.FileAt(path) : image.Created(path), fate);
    return status;
  }
  IOStatus ReuseWritableFile(const std::string&, const std::string&, const FileOptions&,
                             std::unique_ptr<FSWritableFile>*, IODebugContext*) override {
    return IOStatus::NotSupported("files that are written again are not followed");
  }
  IOStatus NewRandomRWFile(const std::string&, const FileOptions&, std::unique_ptr<rocksdb::FSRandomRWFile>*,
                           IODebugContext*) override {
    return IOStatus::NotSupported("files that are written in place are not followed");
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& options, std::unique_ptr<FSDirectory>* directory,
                        IODebugContext* context) override {
    std::lock_guard lock(fate.mutex());
    IOStatus status = fate.Powered();
    if (status.ok()) status = target()->NewDirectory(path, options, directory, context);
    if (status.ok()) *directory = std::make_unique<SyncedDirectory>(std::move(*directory), path, image, fate);
    return status;
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions& options, IODebugContext* context) override {
    std::lock_guard lock(fate.mutex());
    IOStatus status = fate.Next(Call::kDelete, path);
    if (!status.ok()) return status;
    const std::shared_ptr<FileState> file = image.FileAt(path);
    status = target()->DeleteFile(path, options, context);
    if (status.ok()) image.Renamed(path, "", file);
    return status;
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* context) override {
    std::lock_guard lock(fate.mutex());
    IOStatus status = fate.Next(Call::kRename, to);
    if (!status.ok()) return status;
    const std::shared_ptr<FileState> file = image.FileAt(from);
    image.FileAt(to);
    status = target()->RenameFile(from, to, options, context);
    if (status.ok()) image.Renamed(from, to, file);
    return status;
  }
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                    IODebugContext* context) override {
    std::lock_guard lock(fate.mutex());
    IOStatus status = fate.Next(Call::kLink, to);
    if (!status.ok()) return status;
    const std::shared_ptr<FileState> file = image.FileAt(from);
    status = target()->LinkFile(from, to, options, context);
    if (status.ok()) image.Renamed("", to, file);
    return status;
  }
  IOStatus Truncate(const std::string&, size_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::NotSupported("files that are cut by name are not followed");
  }
  // RocksDB's notes for people are not part of what a disk must keep.
  IOStatus NewLogger(const std::string&, const IOOptions&, std::shared_ptr<rocksdb::Logger>* logger,
                     IODebugContext*) override {
    *logger = std::make_shared<SilentLogger>();
    return IOStatus::OK();
  }

  DiskImage image;
  Fate fate;
};

CrashingDisk::CrashingDisk(std::string directory)
    : files_(std::make_shared<Files>(std::move(directory))), env_(rocksdb::NewCompositeEnv(files_)) {}

CrashingDisk::~CrashingDisk() = default;

void CrashingDisk::LosePowerAt(const Point& point) {
  std::lock_guard lock(files_->fate.mutex());
  files_->fate.LoseAt(point);
}

void CrashingDisk::LosePower() {
  std::lock_guard lock(files_->fate.mutex());
  files_->fate.Lose();
}

bool CrashingDisk::lost() const {
  std::lock_guard lock(files_->fate.mutex());
  return files_->fate.lost();
}

void CrashingDisk::Restart(uint64_t seed, const Leftovers& leftovers) {
  std::lock_guard lock(files_->fate.mutex());
  files_->image.Settle(seed, leftovers);
  files_->fate.PowerOn();
}

void CrashingDisk::FailFrom(const Point& point, const IOStatus& error) {
  std::lock_guard lock(files_->fate.mutex());
  files_->fate.FailFrom(point, error);
}

uint64_t CrashingDisk::calls() const {
  std::lock_guard lock(files_->fate.mutex());
  return files_->fate.calls();
}

}  // namespace coffer
