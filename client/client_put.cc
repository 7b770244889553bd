// SPDX-License-Identifier: Apache-2.0
//
// Client::Put. One try:
//  1. read the first message's worth. If that is everything, its digest is known before anything is sent and
//     goes with the header, so that the server publishes these bytes or none;
//  2. send header and data, hashing each piece before it leaves;
//  3. at the end of the source compare with the digest that the caller expects; a difference ends the stream
//     unfinished, so that nothing is stored;
//  4. half-close, wait for the commit, compare the answer's digest and size with our own.
#include "absl/strings/str_cat.h"
#include "client/connection.h"
#include "hashing/hasher.h"

namespace coffer::client {
namespace {

// Reads a source in message-sized pieces and hashes them.
class Pieces {
 public:
  explicit Pieces(Source& source) : source_(source) {}

  // Fills `data` with the next piece; it is shorter than a message only at the end. True: there is no more.
  absl::StatusOr<bool> Next(std::string* data) {
    const std::optional<uint64_t> size_bytes = source_.size_bytes();
    size_t room = kMessageBytes;
    if (size_bytes.has_value()) room = std::min<uint64_t>(room, *size_bytes - sent_bytes_);
    data->resize(room);
    size_t filled = 0;
    bool ended = room == 0;
    while (filled < room && !ended) {
      const absl::Span<uint8_t> out(reinterpret_cast<uint8_t*>(data->data()) + filled, room - filled);
      const absl::StatusOr<size_t> count = source_.Read(out);
      if (!count.ok()) return count.status();
      ended = *count == 0;
      filled += *count;
    }
    data->resize(filled);
    hasher_.Update(BytesOf(*data));
    sent_bytes_ += filled;
    return ended || (size_bytes.has_value() && sent_bytes_ == *size_bytes);
  }

  uint64_t sent_bytes() const { return sent_bytes_; }
  Digest digest() const { return hasher_.Finalize(); }

 private:
  Source& source_;
  Hasher hasher_;
  uint64_t sent_bytes_ = 0;
};

absl::Status CheckExpected(const PutOptions& options, const Digest& digest) {
  if (!options.expected_digest.has_value() || *options.expected_digest == digest) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("content has digest ", digest.ToHex(), ", expected ",
                                          options.expected_digest->ToHex(), "; nothing was stored"));
}

// One try of a put.
class PutAttempt {
 public:
  PutAttempt(Connection& connection, Source& source, const PutOptions& options)
      : connection_(connection),
        options_(options),
        size_bytes_(source.size_bytes()),
        pieces_(source),
        call_(connection) {}

  absl::Status Run(PutResult* result) {
    v1::PutRequest header, piece;
    absl::Status status = FillHeader(header.mutable_header());
    if (!status.ok()) return status;
    absl::StatusOr<bool> last = pieces_.Next(piece.mutable_data());
    if (!last.ok()) return last.status();
    if (*last) {
      const Digest digest = pieces_.digest();
      if (status = CheckExpected(options_, digest); !status.ok()) return status;
      header.mutable_header()->set_expected_digest(std::string(digest.view()));
      header.mutable_header()->set_size_bytes(pieces_.sent_bytes());
    }

    // Corked: a small blob leaves in one packet.
    call_.context.set_initial_metadata_corked(true);
    v1::PutResponse response;
    auto stream = connection_.blobs().Put(&call_.context, &response);
    status = SendAll(*stream, header, piece, last);
    if (!status.ok()) {
      call_.context.TryCancel();
      (void)stream->Finish();
      return status;
    }
    status = connection_.ToStatus(call_.guard.Wait([&] { return stream->Finish(); }), call_);
    if (!status.ok()) return status;
    return CheckAnswer(response, result);
  }

  uint64_t sent_bytes() const { return reported_bytes_; }

 private:
  absl::Status FillHeader(v1::PutHeader* header) {
    absl::Status status = CheckUtf8("bucket", options_.bucket);
    if (!status.ok()) return status;
    if (status = CheckUtf8("name", options_.name); !status.ok()) return status;
    header->set_bucket(options_.bucket);
    header->set_name(options_.name);
    if (options_.expected_digest.has_value()) {
      header->set_expected_digest(std::string(options_.expected_digest->view()));
    }
    if (size_bytes_.has_value()) header->set_size_bytes(*size_bytes_);
    return FillMetadata(options_.metadata, header->mutable_metadata());
  }

  // Errors are those of this side. A stream that the server ended is no error here: Finish() tells.
  absl::Status SendAll(grpc::ClientWriter<v1::PutRequest>& stream, const v1::PutRequest& header, v1::PutRequest& piece,
                       absl::StatusOr<bool> last) {
    grpc::WriteOptions buffered;
    buffered.set_buffer_hint();
    if (!call_.guard.Wait([&] { return stream.Write(header, buffered); })) return absl::OkStatus();
    while (!*last) {
      if (!call_.guard.Wait([&] { return stream.Write(piece); })) return absl::OkStatus();
      Report(piece.data().size());
      last = pieces_.Next(piece.mutable_data());
      if (!last.ok()) return last.status();
    }
    if (absl::Status status = CheckExpected(options_, pieces_.digest()); !status.ok()) return status;
    grpc::WriteOptions final_options;
    final_options.set_last_message();
    const bool needs_end = !header.header().has_size_bytes();
    if (!call_.guard.Wait([&] { return stream.Write(piece, needs_end ? buffered : final_options); })) {
      return absl::OkStatus();
    }
    Report(piece.data().size());
    if (!needs_end) return absl::OkStatus();
    v1::PutRequest end;
    end.mutable_end()->set_size_bytes(pieces_.sent_bytes());
    end.mutable_end()->set_expected_digest(std::string(pieces_.digest().view()));
    call_.guard.Wait([&] { return stream.Write(end, final_options); });
    return absl::OkStatus();
  }

  absl::Status CheckAnswer(const v1::PutResponse& response, PutResult* result) {
    const absl::StatusOr<Digest> digest = DigestOfAnswer(response.digest());
    if (!digest.ok()) return digest.status();
    const Digest sent = pieces_.digest();
    if (*digest != sent || response.size_bytes() != pieces_.sent_bytes()) {
      return absl::DataLossError(absl::StrCat("sent ", pieces_.sent_bytes(), " bytes with digest ", sent.ToHex(),
                                              ", the server stored ", response.size_bytes(), " bytes with digest ",
                                              digest->ToHex()));
    }
    *result = {*digest, response.size_bytes(), response.deduplicated(), response.name()};
    return absl::OkStatus();
  }

  void Report(size_t bytes) {
    reported_bytes_ += bytes;
    if (options_.progress) options_.progress(static_cast<int64_t>(bytes));
  }

  Connection& connection_;
  const PutOptions& options_;
  const std::optional<uint64_t> size_bytes_;
  Pieces pieces_;
  Connection::Call call_;
  uint64_t reported_bytes_ = 0;
};

}  // namespace

absl::StatusOr<PutResult> Client::Put(Source& source, const PutOptions& options) {
  PutResult result;
  uint64_t reported_bytes = 0;
  const absl::Status status = connection_->Streaming(
      [&] {
        PutAttempt attempt(*connection_, source, options);
        const absl::Status status = attempt.Run(&result);
        reported_bytes = attempt.sent_bytes();
        return status;
      },
      [&] {
        if (!source.Rewind().ok()) return false;
        if (options.progress) options.progress(-static_cast<int64_t>(reported_bytes));
        return true;
      });
  if (!status.ok()) return status;
  return result;
}

absl::StatusOr<PutResult> Client::PutBytes(ByteSpan bytes, const PutOptions& options) {
  BufferSource source(bytes);
  return Put(source, options);
}

absl::StatusOr<PutResult> Client::PutFile(const std::string& path, const PutOptions& options) {
  absl::StatusOr<std::unique_ptr<FileSource>> source = FileSource::Open(path);
  if (!source.ok()) return source.status();
  return Put(**source, options);
}

}  // namespace coffer::client
