// SPDX-License-Identifier: Apache-2.0
//
// The commands of `coffer`, a file each or a file for a few that belong together.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "client/cli/session.h"

namespace coffer::client::cli {

// Each adds its command to `app` and, if the command line chooses it, sets `*chosen`.
void AddPut(CLI::App& app, Command* chosen);
void AddGet(CLI::App& app, Command* chosen);
void AddLs(CLI::App& app, Command* chosen);
void AddStat(CLI::App& app, Command* chosen);
void AddRm(CLI::App& app, Command* chosen);
void AddVerify(CLI::App& app, Command* chosen);
void AddBucket(CLI::App& app, Command* chosen);
void AddStatus(CLI::App& app, Command* chosen);
void AddBackup(CLI::App& app, Command* chosen);
void AddGc(CLI::App& app, Command* chosen);
void AddScrub(CLI::App& app, Command* chosen);
void AddHash(CLI::App& app, Command* chosen);

// `get --prefix`: everything that starts with `prefix`, to files below `directory`.
void GetMany(Session& session, const std::string& bucket, const std::string& prefix, const std::string& directory);

// An option with one value.
CLI::Option* AddValue(CLI::App& command, const std::string& flags, std::string* value, const std::string& description);

// An option that is a size or an offset, in bytes.
CLI::Option* AddByteCount(CLI::App& command, const std::string& flags, uint64_t* value, const std::string& description);

// Any number of positional arguments; and one of them, or an option that may be repeated. Read both with results():
// that is what the user typed, unchanged. (CLI11 would take "[a,b]" apart and read "{}" as nothing.)
CLI::Option* AddOperands(CLI::App& command, const std::string& label, const std::string& description);
CLI::Option* AddVerbatim(CLI::App& command, const std::string& flags, const std::string& description);

// -b, --bucket.
CLI::Option* AddBucketOption(CLI::App& command, std::string* bucket);

}  // namespace coffer::client::cli
