// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "storage/engine.h"

namespace coffer {

// An engine for tests: everything in memory, one lock, gone with the process. The simplest thing that keeps the
// promises of engine.h, save durability.
std::unique_ptr<Engine> NewMemoryEngine();

}  // namespace coffer
