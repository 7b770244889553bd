// SPDX-License-Identifier: Apache-2.0
//
// damage_store DATA_DIR DIGEST OFFSET                            a byte of the record (negative: from its end)
// damage_store DATA_DIR DIGEST OFFSET SEGMENT LEVEL ROW          a byte of a piece
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/damage.h"

int main(int argc, char** argv) {
  if (argc != 4 && argc != 7) {
    std::fprintf(stderr, "usage: damage_store DATA_DIR DIGEST OFFSET [SEGMENT LEVEL ROW]\n");
    return 2;
  }
  const absl::StatusOr<coffer::Digest> digest = coffer::Digest::FromHex(argv[2]);
  absl::Status status = digest.status();
  if (status.ok()) {
    const int64_t offset = std::atoll(argv[3]);
    if (argc == 4) {
      status = coffer::DamageRecord(argv[1], *digest, offset);
    } else {
      const coffer::PieceId piece = {static_cast<uint32_t>(std::atol(argv[4])), static_cast<uint8_t>(std::atoi(argv[5])),
                                     static_cast<uint8_t>(std::atoi(argv[6]))};
      status = coffer::DamagePiece(argv[1], *digest, piece, offset);
    }
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "damage_store: %s\n", std::string(status.message()).c_str());
  return 1;
}
