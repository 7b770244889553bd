// SPDX-License-Identifier: Apache-2.0
//
// Memory does not grow with the size of a blob: what cofferd occupied at most, as the kernel counted it.
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/e2e/cofferd_fixture.h"

namespace coffer::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class MemoryTest : public CofferdTest {
 protected:
  // VmHWM, the largest resident size so far, in KiB; 0 if it cannot be read.
  uint64_t PeakKib() {
    std::ifstream status(absl::StrCat("/proc/", server_->process().pid(), "/status"));
    for (std::string line; std::getline(status, line);) {
      const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
      uint64_t kib = 0;
      if (words.size() == 3 && words[0] == "VmHWM:" && absl::SimpleAtoi(words[1], &kib)) return kib;
    }
    return 0;
  }

  void PutFromPipe(const std::string& name, uint64_t size_bytes) {
    ProcessOptions options;
    options.environment["COFFER_SERVER"] = server_->address();
    const std::string line =
        absl::StrCat("head -c ", size_bytes, " /dev/urandom | '", ProgramPath("coffer"), "' put - -n ", name);
    const ProcessResult put = RunProgram({"/bin/sh", "-c", line}, options);
    ASSERT_EQ(put.exit_code, 0) << put.err;
  }
};

TEST_F(MemoryTest, OfTheServerDoesNotGrowWithTheSizeOfABlob) {
  PutFromPipe("warm-up", 100 * kMiB);
  const uint64_t warm_kib = PeakKib();
  ASSERT_GT(warm_kib, 0u);
  PutFromPipe("large", 1024 * kMiB);
  EXPECT_EQ(Status()["content_bytes"], 1124 * kMiB);
  const uint64_t grown_kib = PeakKib() - warm_kib;
  RecordProperty("warm_mib", static_cast<int>(warm_kib / 1024));
  RecordProperty("grown_mib", static_cast<int>(grown_kib / 1024));
  EXPECT_LT(grown_kib, 64u * 1024) << "from " << warm_kib << " KiB";
}

}  // namespace
}  // namespace coffer::testing
