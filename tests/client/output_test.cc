// SPDX-License-Identifier: Apache-2.0
//
// What the command prints, and the exit code it ends with.
#include "client/cli/output.h"

#include <gtest/gtest.h>

#include "client/cli/failures.h"
#include "client/cli/progress.h"

namespace coffer::client::cli {
namespace {

TEST(B3sumLine, EscapesNewlineAndBackslashOnly) {
  const std::string hex(64, '0');
  EXPECT_EQ(B3sumLine(Digest(), "a b"), hex + "  a b");
  EXPECT_EQ(B3sumLine(Digest(), "a\nb"), "\\" + hex + "  a\\nb");
  EXPECT_EQ(B3sumLine(Digest(), "a\\nb"), "\\" + hex + "  a\\\\nb");
  EXPECT_EQ(B3sumLine(Digest(), "\xc3\xa4\t\r"), hex + "  \xc3\xa4\t\r");
}

TEST(FormatBytes, PicksTheUnit) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.0 KiB");
  EXPECT_EQ(FormatBytes(uint64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(FormatBytes(~uint64_t{0}), "16.0 EiB");
}

TEST(FormatTimeUtc, IsRfc3339) {
  EXPECT_EQ(FormatTimeUtc(absl::FromUnixMillis(1700000000250)), "2023-11-14T22:13:20.25Z");
}

TEST(FormatProgress, HasRateAndEta) {
  EXPECT_EQ(FormatProgress({uint64_t{1} << 30, uint64_t{2} << 30, 12, absl::Seconds(2)}, "files"),
            "12 files  1.0 GiB of 2.0 GiB  50%  512.0 MiB/s  ETA 0:02");
  EXPECT_EQ(FormatProgress({2048, 0, 1, absl::Seconds(2)}, "blobs"), "1 blobs  2.0 KiB  1.0 KiB/s");
  EXPECT_EQ(FormatProgress({1024, 1024 * 4000, 1, absl::Seconds(1)}, "files"),
            "1 files  1.0 KiB of 3.9 MiB  0%  1.0 KiB/s  ETA 1:06:39");
}

TEST(Failures, TheFirstCodeCountsButIntegrityWins) {
  Failures failures;
  EXPECT_EQ(failures.exit_code(), 0);
  failures.Report("a", absl::OkStatus());
  EXPECT_FALSE(failures.any());
  failures.Report("a", absl::NotFoundError("x"));
  failures.Report("b", absl::UnavailableError("x"));
  EXPECT_EQ(failures.exit_code(), kExitNotFound);
  failures.Report("c", absl::DataLossError("x"));
  failures.Report("d", absl::PermissionDeniedError("x"));
  EXPECT_EQ(failures.exit_code(), kExitIntegrity);
}

TEST(ExitCodeOf, CoversEveryStatus) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::UnimplementedError("")), 1);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("")), 2);
  EXPECT_EQ(ExitCodeOf(absl::DataLossError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::PermissionDeniedError("")), 5);
  EXPECT_EQ(ExitCodeOf(absl::UnauthenticatedError("")), 5);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), 6);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), 6);
  EXPECT_EQ(ExitCodeOf(absl::ResourceExhaustedError("")), 7);
}

}  // namespace
}  // namespace coffer::client::cli
