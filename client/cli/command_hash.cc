// SPDX-License-Identifier: Apache-2.0
//
// coffer hash: digests of local files, without a server.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/progress.h"
#include "client/file_hasher.h"

namespace coffer::client::cli {
namespace {

void RunHash(Session& session, std::vector<std::string> paths) {
  if (paths.empty()) paths.push_back("-");
  Progress progress(session.draws_progress(), "files");
  FileHasher hasher(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  for (const std::string& path : paths) {
    if (session.stopped()) return;
    absl::StatusOr<std::unique_ptr<FileSource>> source =
        path == "-" ? FileSource::FromFd(UniqueFd(::dup(STDIN_FILENO)), "standard input") : FileSource::Open(path);
    std::atomic<uint64_t> size_bytes = 0;
    const auto count = [&](int64_t bytes) {
      size_bytes += bytes;
      progress.AddBytes(bytes);
      return !session.interrupted();
    };
    const absl::StatusOr<Digest> digest = source.ok() ? hasher.Hash(**source, count) : source.status();
    progress.AddItem();
    if (session.interrupted()) return;
    if (!digest.ok()) {
      session.failures().Report("hash", digest.status());
    } else if (session.json()) {
      session.out().Object({{"path", path}, {"digest", digest->ToHex()}, {"size_bytes", size_bytes.load()}});
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

}  // namespace coffer::client::cli
