// SPDX-License-Identifier: Apache-2.0
//
// Writes files below one directory, by names that come from a store and may be anything. Never outside of it:
//  1. a name is a path only if every part of it is a plain file name (CheckFileName);
//  2. each directory on the way is opened from the one before it without following symbolic links, and made if
//     it is missing;
//  3. the file itself is a PartFile in the last of them: a symbolic link in its place is replaced, not followed.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/part_file.h"
#include "client/unique_fd.h"

namespace coffer::client::cli {

// FAILED_PRECONDITION, saying why, if `name` cannot be a relative path: it starts or ends with "/", has an
// empty, "." or ".." part, a NUL, or a part of more than 255 bytes.
absl::Status CheckFileName(absl::string_view name);

// Thread-safe.
class TreeWriter {
 public:
  // Makes `directory` if it is missing, but not its parents. Following a symbolic link to it is fine: it is
  // what the user named.
  static absl::StatusOr<std::unique_ptr<TreeWriter>> Open(const std::string& directory);

  class File {
   public:
    absl::Status Write(ByteSpan bytes) { return file_->Write(bytes); }
    // See PartFile.
    absl::Status Commit() { return file_->Commit(); }

   private:
    friend class TreeWriter;
    UniqueFd directory_;  // outlives file_
    std::unique_ptr<PartFile> file_;
  };

  // Starts the file for `name`.
  absl::StatusOr<std::unique_ptr<File>> Create(const std::string& name);

 private:
  TreeWriter(UniqueFd root, std::string directory) : root_(std::move(root)), directory_(directory) {}

  const UniqueFd root_;
  const std::string directory_;
};

}  // namespace coffer::client::cli
