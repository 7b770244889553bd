// SPDX-License-Identifier: Apache-2.0
// The AVX2 kernel: eight lanes, four where there are no more than four inputs.
#include "hashing/kernel_lanes.h"
#include "hashing/vectors_avx2.h"
#include "hashing/vectors_sse41.h"

namespace coffer {
namespace {

bool Supported() { return __builtin_cpu_supports("avx2"); }
using Kernels = LaneKernel<Lanes<EightLanes, 1>, Lanes<FourLanes, 1>, OneLane<2, 2, AbsorbX64>>;

}  // namespace

extern const Kernel kAvx2Kernel = {
    "avx2", Supported, Kernels::HashLanes, Kernels::HashChunks, Kernels::HashParents, AbsorbX64, CompressPortable,
};

}  // namespace coffer
