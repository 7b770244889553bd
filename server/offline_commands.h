// SPDX-License-Identifier: Apache-2.0
//
// cofferd check, salvage and restore: what an operator does with a store that nobody serves. Findings and losses are
// lines on stdout, or with --json one object a line; a failure is one line on stderr.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace coffer {

// Sets `chosen`, when a subcommand is parsed, to what runs it and returns the exit code: 0, 1 for a failure, 2 for
// usage, 3 for damage.
void AddOfflineCommands(CLI::App& app, std::function<int()>* chosen);

}  // namespace coffer
