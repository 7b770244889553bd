// SPDX-License-Identifier: Apache-2.0
//
// Client::Get and its forms. The header is checked against what was asked for, the bytes against the header:
// their number always, their digest when they are the whole blob.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/connection.h"
#include "client/part_file.h"
#include "hashing/hasher.h"

namespace coffer::client {
namespace {

// One try of a get.
class GetAttempt {
 public:
  GetAttempt(Connection& connection, const Selector& blob, const GetOptions& options, const Sink& sink)
      : connection_(connection), blob_(blob), options_(options), sink_(sink), call_(connection) {}

  absl::Status Run(GetResult* result) {
    v1::GetRequest request;
    absl::Status status = FillSelector(blob_, request.mutable_blob());
    if (!status.ok()) return status;
    request.set_offset_bytes(options_.offset_bytes);
    request.set_length_bytes(options_.length_bytes);
    auto stream = connection_.blobs().Get(&call_.context, request);
    status = ReceiveAll(*stream, result);
    if (!status.ok()) {
      call_.context.TryCancel();
      (void)stream->Finish();
      return status;
    }
    status = connection_.ToStatus(call_.guard.Wait([&] { return stream->Finish(); }), call_);
    if (!status.ok()) return status;
    return CheckWhole(*result);
  }

  bool handed_out() const { return received_bytes_ > 0; }

 private:
  // Errors are those of this side; what the server has to say, Finish() tells.
  absl::Status ReceiveAll(grpc::ClientReader<v1::GetResponse>& stream, GetResult* result) {
    v1::GetResponse message;
    while (call_.guard.Wait([&] { return stream.Read(&message); })) {
      if (message.has_header()) {
        if (have_header_) return absl::DataLossError("the server sent two headers");
        have_header_ = true;
        if (absl::Status status = TakeHeader(message.header(), result); !status.ok()) return status;
        continue;
      }
      if (!have_header_) return absl::DataLossError("the server sent data before the header");
      const ByteSpan bytes = BytesOf(message.data());
      if (bytes.empty()) continue;
      received_bytes_ += bytes.size();
      if (received_bytes_ > result->length_bytes) {
        return absl::DataLossError(
            absl::StrCat("the server sent more than the ", result->length_bytes, " bytes that it announced"));
      }
      if (whole_) hasher_.Update(bytes);
      if (absl::Status status = sink_(bytes); !status.ok()) return status;
      if (options_.progress) options_.progress(static_cast<int64_t>(bytes.size()));
    }
    return absl::OkStatus();
  }

  absl::Status TakeHeader(const v1::GetHeader& header, GetResult* result) {
    const absl::StatusOr<Digest> digest = DigestOfAnswer(header.digest());
    if (!digest.ok()) return digest.status();
    if (const auto* wanted = std::get_if<Digest>(&blob_.by); wanted != nullptr && *wanted != *digest) {
      return absl::DataLossError(absl::StrCat("asked for ", wanted->ToHex(), ", the server sends ", digest->ToHex()));
    }
    *result = {*digest, header.size_bytes(), header.offset_bytes(), header.length_bytes(),
               MetadataOfAnswer(header.metadata())};
    const uint64_t rest = header.size_bytes() - std::min(options_.offset_bytes, header.size_bytes());
    const uint64_t length = options_.length_bytes == 0 ? rest : std::min<uint64_t>(options_.length_bytes, rest);
    if (header.offset_bytes() != options_.offset_bytes || header.length_bytes() != length) {
      return absl::DataLossError(absl::StrCat("asked for ", length, " bytes at offset ", options_.offset_bytes, " of ",
                                              digest->ToHex(), ", the server sends ", header.length_bytes(), " at ",
                                              header.offset_bytes()));
    }
    whole_ = header.offset_bytes() == 0 && header.length_bytes() == header.size_bytes();
    if (options_.header) options_.header(*result);
    return absl::OkStatus();
  }

  absl::Status CheckWhole(const GetResult& result) {
    if (!have_header_ || received_bytes_ != result.length_bytes) {
      return absl::DataLossError(absl::StrCat("the server sent ", received_bytes_, " of ", result.length_bytes,
                                              " bytes of ", Describe(blob_), " and called it complete"));
    }
    if (!whole_) return absl::OkStatus();
    const Digest digest = hasher_.Finalize();
    if (digest == result.digest) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("bytes [0, ", result.size_bytes, ") of ", result.digest.ToHex(),
                                            " arrived with digest ", digest.ToHex()));
  }

  Connection& connection_;
  const Selector& blob_;
  const GetOptions& options_;
  const Sink& sink_;
  Connection::Call call_;
  Hasher hasher_;
  bool have_header_ = false;
  bool whole_ = false;
  uint64_t received_bytes_ = 0;
};

}  // namespace

absl::StatusOr<GetResult> Client::Get(const Selector& blob, const GetOptions& options, const Sink& sink) {
  GetResult result;
  bool handed_out = false;
  const absl::Status status = connection_->Streaming(
      [&] {
        GetAttempt attempt(*connection_, blob, options, sink);
        const absl::Status status = attempt.Run(&result);
        handed_out = attempt.handed_out();
        return status;
      },
      [&] { return !handed_out; });
  if (!status.ok()) return status;
  return result;
}

absl::StatusOr<GetResult> Client::GetBytes(const Selector& blob, const GetOptions& options, uint64_t limit_bytes,
                                           std::string* out) {
  out->clear();
  return Get(blob, options, [&](ByteSpan bytes) -> absl::Status {
    if (bytes.size() > limit_bytes - out->size()) {
      return absl::ResourceExhaustedError(
          absl::StrCat(Describe(blob), " has more than the limit of ", limit_bytes, " bytes"));
    }
    out->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return absl::OkStatus();
  });
}

absl::StatusOr<GetResult> Client::GetToFile(const Selector& blob, const GetOptions& options, const std::string& path) {
  std::string target = path;
  std::optional<mode_t> mode;
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return absl::FailedPreconditionError(absl::StrCat(path, " is a directory"));
    if (!S_ISREG(info.st_mode)) {
      UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
      if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("open ", path));
      return Get(blob, options, [&](ByteSpan bytes) { return WriteAll(fd.get(), bytes, path); });
    }
    std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
    if (real != nullptr) target = real.get();
    mode = info.st_mode & 0777;
  } else if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is a symbolic link whose target does not exist; name the target or remove the link"));
  }
  const std::filesystem::path whole(target);
  if (whole.filename().empty()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", path, "\" does not name a file"));
  }
  const std::string directory = whole.has_parent_path() ? whole.parent_path().string() : ".";
  UniqueFd directory_fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("open ", directory));
  absl::StatusOr<std::unique_ptr<PartFile>> file =
      PartFile::Create(directory_fd.get(), whole.filename().string(), path);
  if (!file.ok()) return file.status();
  if (mode.has_value()) {
    if (absl::Status status = (*file)->SetMode(*mode); !status.ok()) return status;
  }
  absl::StatusOr<GetResult> result = Get(blob, options, [&](ByteSpan bytes) { return (*file)->Write(bytes); });
  if (!result.ok()) return result;
  if (absl::Status status = (*file)->Commit(); !status.ok()) return status;
  return result;
}

}  // namespace coffer::client
