// SPDX-License-Identifier: Apache-2.0
#include "tests/support/failing_disk.h"

#include <mutex>
#include <string>
#include <utility>

namespace coffer {
namespace {

using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

struct Failure {
  std::mutex mutex;
  // Guarded by mutex.
  IOStatus error;
  int passing = 0;

  IOStatus Next() {
    std::lock_guard lock(mutex);
    return passing-- > 0 ? IOStatus::OK() : error;
  }
};

class LogFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  LogFile(std::unique_ptr<FSWritableFile> file, std::shared_ptr<Failure> failure)
      : FSWritableFileOwnerWrapper(std::move(file)), failure_(std::move(failure)) {}

  IOStatus Sync(const IOOptions& options, IODebugContext* context) override {
    IOStatus error = failure_->Next();
    return error.ok() ? FSWritableFileOwnerWrapper::Sync(options, context) : error;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* context) override {
    IOStatus error = failure_->Next();
    return error.ok() ? FSWritableFileOwnerWrapper::Fsync(options, context) : error;
  }

 private:
  const std::shared_ptr<Failure> failure_;
};

}  // namespace

class FailingDisk::Files : public rocksdb::FileSystemWrapper {
 public:
  Files() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

  const char* Name() const override { return "FailingDisk"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file, IODebugContext* context) override {
    IOStatus status = FileSystemWrapper::NewWritableFile(path, options, file, context);
    if (status.ok() && path.ends_with(".log")) *file = std::make_unique<LogFile>(std::move(*file), failure);
    return status;
  }

  const std::shared_ptr<Failure> failure = std::make_shared<Failure>();
};

FailingDisk::FailingDisk() : files_(std::make_shared<Files>()), env_(rocksdb::NewCompositeEnv(files_)) {}

void FailingDisk::FailLogSyncs(const rocksdb::IOStatus& error, int passing) {
  std::lock_guard lock(files_->failure->mutex);
  files_->failure->error = error;
  files_->failure->passing = passing;
}

}  // namespace coffer
