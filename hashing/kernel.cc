// SPDX-License-Identifier: Apache-2.0
// Picks the kernel: the environment's wish or the fastest that the CPU supports.
#include "hashing/kernel.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "hashing/kernel_table.h"

namespace coffer {
namespace {

constexpr const Kernel* kKernels[] = {
#if defined(__x86_64__)
    &kAvx512Kernel,
    &kAvx2Kernel,
    &kSse41Kernel,
#elif defined(__aarch64__)
    &kNeonKernel,
#endif
    &kPortableKernel,
};

[[noreturn]] void RefuseKernel(std::string_view wanted, const char* why) {
  std::string choices;
  for (const Kernel* kernel : AllKernels()) {
    if (!kernel->supported()) continue;
    choices += choices.empty() ? "" : ", ";
    choices += kernel->name;
  }
  std::fprintf(stderr, "COFFER_KERNEL=\"%.*s\": %s; this machine can run: %s\n", static_cast<int>(wanted.size()),
               wanted.data(), why, choices.c_str());
  std::abort();
}

const Kernel* ChooseKernel() {
  const char* wanted = std::getenv("COFFER_KERNEL");
  for (const Kernel* kernel : AllKernels()) {
    if (wanted == nullptr || *wanted == '\0') {
      if (kernel->supported()) return kernel;
    } else if (std::string_view(wanted) == kernel->name) {
      if (!kernel->supported()) RefuseKernel(wanted, "this CPU lacks the instructions");
      return kernel;
    }
  }
  RefuseKernel(wanted, "no such kernel");
}

std::atomic<const Kernel*> active_kernel{nullptr};

}  // namespace

KernelList AllKernels() { return {std::begin(kKernels), std::end(kKernels)}; }

const Kernel& ActiveKernel() {
  const Kernel* kernel = active_kernel.load(std::memory_order_acquire);
  if (kernel == nullptr) {
    // Racing threads choose the same one.
    kernel = ChooseKernel();
    active_kernel.store(kernel, std::memory_order_release);
  }
  return *kernel;
}

std::string_view ActiveKernelName() { return ActiveKernel().name; }

void SetActiveKernel(const Kernel& kernel) { active_kernel.store(&kernel, std::memory_order_release); }

}  // namespace coffer
