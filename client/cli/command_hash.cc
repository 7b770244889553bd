// SPDX-License-Identifier: Apache-2.0
//
// coffer hash: digests of local files, without a server.
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/progress.h"
#include "hashing/hasher.h"

namespace coffer::cli {
namespace {

// One read; large enough that system calls do not count.
constexpr size_t kReadBytes = size_t{1} << 20;

absl::StatusOr<Digest> HashSource(Session& session, Source& source, Progress& progress,
                                  std::vector<uint8_t>& buffer, uint64_t* size_bytes) {
  Hasher hasher;
  *size_bytes = 0;
  while (!session.interrupted()) {
    const absl::StatusOr<size_t> count = source.Read(absl::MakeSpan(buffer));
    if (!count.ok()) return count.status();
    if (*count == 0) return hasher.Finalize();
    hasher.Update(ByteSpan(buffer.data(), *count));
    *size_bytes += *count;
    progress.AddBytes(static_cast<int64_t>(*count));
  }
  return absl::CancelledError("");
}

void RunHash(Session& session, std::vector<std::string> paths) {
  if (paths.empty()) paths.push_back("-");
  Progress progress(session.draws_progress(), "files");
  std::vector<uint8_t> buffer(kReadBytes);
  for (const std::string& path : paths) {
    if (session.stopped()) return;
    absl::StatusOr<std::unique_ptr<FileSource>> source =
        path == "-" ? FileSource::FromFd(UniqueFd(::dup(STDIN_FILENO)), "standard input")
                    : FileSource::Open(path);
    uint64_t size_bytes = 0;
    const absl::StatusOr<Digest> digest =
        source.ok() ? HashSource(session, **source, progress, buffer, &size_bytes) : source.status();
    progress.AddItem();
    if (session.interrupted()) return;
    if (!digest.ok()) {
      session.failures().Report("hash", digest.status());
    } else if (session.json()) {
      session.out().Object({{"path", path}, {"digest", digest->ToHex()}, {"size_bytes", size_bytes}});
    } else {
      session.out().Line(B3sumLine(*digest, path));
    }
  }
}

}  // namespace

void AddHash(CLI::App& app, Command* chosen) {
  CLI::App* command = app.add_subcommand("hash", "Print digests of local files as b3sum does; needs no server");
  CLI::Option* files = AddOperands(*command, "FILE", "Files; none, or -: standard input");
  command->callback([=] { *chosen = [=](Session& session) { RunHash(session, files->results()); }; });
}

}  // namespace coffer::cli
