// SPDX-License-Identifier: Apache-2.0
#include "storage/memory/memory_engine.h"

#include "tests/contract/contract_suite.h"

namespace coffer {

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract,
                         testing::Values(StoreFactory{"Memory", [] { return StoreInProcess(NewMemoryEngine()); }}),
                         StoreName);

}  // namespace coffer
