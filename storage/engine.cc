// SPDX-License-Identifier: Apache-2.0
#include "storage/engine.h"

#include "absl/strings/str_cat.h"
#include "storage/names.h"

namespace coffer {

absl::Status BlobNotFound(const Digest& digest) {
  return absl::NotFoundError(absl::StrCat("blob ", digest.ToHex(), " is not stored"));
}

absl::Status BucketNotFound(absl::string_view bucket) {
  return absl::NotFoundError(absl::StrCat("bucket ", Quoted(bucket), " does not exist"));
}

absl::Status NameNotFound(absl::string_view bucket, absl::string_view name) {
  return absl::NotFoundError(absl::StrCat("name ", Quoted(name), " does not exist in bucket ", Quoted(bucket)));
}

absl::StatusOr<BackupSummary> Engine::Backup(const std::string&, const std::string&) {
  return absl::UnimplementedError("this engine makes no backups");
}

}  // namespace coffer
