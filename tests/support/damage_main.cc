// SPDX-License-Identifier: Apache-2.0
//
// Damages a closed store (damage.h). Exit code 2: the arguments are wrong, and nothing was done.
//
// damage_store DATA_DIR DIGEST OFFSET                            a byte of the row in which a small blob ends
// (negative: from its end) damage_store DATA_DIR DIGEST OFFSET SEGMENT LEVEL ROW          a byte of a piece
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/support/damage.h"

namespace {

// A whole number from `low` to `high`.
template <typename Number>
absl::Status Parse(const char* what, const char* text, Number low, Number high, Number* number) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < int64_t{low} || value > int64_t{high}) {
    return absl::InvalidArgumentError(absl::StrCat(what, " \"", text, "\" is not a number of ", low, " to ", high));
  }
  *number = static_cast<Number>(value);
  return absl::OkStatus();
}

absl::Status ParsePiece(char** arguments, coffer::PieceId* piece) {
  constexpr uint32_t kMaxSegment = std::numeric_limits<uint32_t>::max();
  constexpr uint8_t kLastRow = coffer::kRowsPerSegment - 1;
  if (absl::Status status = Parse("SEGMENT", arguments[0], uint32_t{0}, kMaxSegment, &piece->segment); !status.ok()) {
    return status;
  }
  const auto top_level = static_cast<uint8_t>(coffer::kMaxLevel);
  if (absl::Status status = Parse("LEVEL", arguments[1], uint8_t{0}, top_level, &piece->level); !status.ok()) {
    return status;
  }
  return Parse("ROW", arguments[2], uint8_t{0}, kLastRow, &piece->row);
}

absl::Status Damage(int argc, char** argv) {
  const absl::StatusOr<coffer::Digest> digest = coffer::Digest::FromHex(argv[2]);
  if (!digest.ok()) return digest.status();
  constexpr int64_t kMaxOffset = coffer::kSegmentBytes;
  int64_t offset = 0;
  if (absl::Status status = Parse("OFFSET", argv[3], -kMaxOffset, kMaxOffset, &offset); !status.ok()) return status;
  if (argc == 4) return coffer::DamageSmall(argv[1], *digest, offset);
  coffer::PieceId piece;
  if (absl::Status status = ParsePiece(argv + 4, &piece); !status.ok()) return status;
  return coffer::DamagePiece(argv[1], *digest, piece, offset);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 7) {
    std::fprintf(stderr, "usage: damage_store DATA_DIR DIGEST OFFSET [SEGMENT LEVEL ROW]\n");
    return 2;
  }
  const absl::Status status = Damage(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "damage_store: %s\n", std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
}
