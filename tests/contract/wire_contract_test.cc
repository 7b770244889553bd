// SPDX-License-Identifier: Apache-2.0
#include "storage/memory/memory_engine.h"
#include "tests/contract/contract_suite.h"
#include "tests/contract/store_over_wire.h"

namespace coffer {

INSTANTIATE_TEST_SUITE_P(Wire, StoreContract,
                         testing::Values(StoreFactory{"Memory", [] { return StoreOverWire(NewMemoryEngine()); }}),
                         StoreName);

}  // namespace coffer
