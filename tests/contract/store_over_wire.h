// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tests/contract/store_under_test.h"

namespace coffer {

// The store over `engine`, behind a server of its own on a loopback port.
std::unique_ptr<StoreUnderTest> StoreOverWire(std::unique_ptr<Engine> engine);

}  // namespace coffer
