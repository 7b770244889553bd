// SPDX-License-Identifier: Apache-2.0
// The SSE4.1 kernel: four lanes.
#include "hashing/kernel_lanes.h"
#include "hashing/vectors_sse41.h"

namespace coffer {
namespace {

bool Supported() { return __builtin_cpu_supports("sse4.1"); }
using Kernels = LaneKernel<Lanes<FourLanes, 1>, OneLane<2, 2, AbsorbX64>>;

}  // namespace

extern const Kernel kSse41Kernel = {
    "sse41", Supported, Kernels::HashLanes, Kernels::HashChunks, Kernels::HashParents, AbsorbX64, CompressPortable,
};

}  // namespace coffer
