// SPDX-License-Identifier: Apache-2.0
#include "storage/rocks/file_checksum.h"

#include "storage/rocks/crc32c.h"

namespace coffer::rocks {
namespace {

// What the database notes beside each checksum: a program with RocksDB's own generator reads ours, and the other way
// round.
constexpr char kFunctionName[] = "FileChecksumCrc32c";

class Generator : public rocksdb::FileChecksumGenerator {
 public:
  void Update(const char* data, size_t size_bytes) override { crc_ = ExtendCrc32c(crc_, {data, size_bytes}); }
  void Finalize() override {
    for (int shift = 24; shift >= 0; shift -= 8) checksum_.push_back(static_cast<char>(crc_ >> shift));
  }
  std::string GetChecksum() const override { return checksum_; }
  const char* Name() const override { return kFunctionName; }

 private:
  uint32_t crc_ = 0;
  std::string checksum_;
};

class Factory : public rocksdb::FileChecksumGenFactory {
 public:
  std::unique_ptr<rocksdb::FileChecksumGenerator> CreateFileChecksumGenerator(
      const rocksdb::FileChecksumGenContext& context) override {
    const std::string& wanted = context.requested_checksum_func_name;
    if (!wanted.empty() && wanted != kFunctionName) return nullptr;
    return std::make_unique<Generator>();
  }
  const char* Name() const override { return "CofferFileChecksums"; }
};

}  // namespace

std::shared_ptr<rocksdb::FileChecksumGenFactory> NewFileChecksumFactory() { return std::make_shared<Factory>(); }

std::optional<uint32_t> StoredFileChecksum(const std::string& checksum, const std::string& function_name) {
  if (function_name != kFunctionName || checksum.size() != sizeof(uint32_t)) return std::nullopt;
  uint32_t crc = 0;
  for (const char byte : checksum) crc = crc << 8 | static_cast<uint8_t>(byte);
  return crc;
}

}  // namespace coffer::rocks
