// SPDX-License-Identifier: Apache-2.0
// The other implementations that hash_bench times coffer against, each as one function.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hashing/bytes.h"

namespace coffer::bench {

// Hashes one message from beginning to end.
struct Peer {
  std::string name;
  std::function<void(ByteSpan)> hash;
};

// The official BLAKE3 (C and assembly, as LLVM ships it); nullptr if it is not installed.
const Peer* OfficialBlake3();

// The official BLAKE3 in one stream fed with `piece` `times` times over.
void HashStreamOfficially(ByteSpan piece, size_t times);

// All other peers that are installed, by name: "sha256 openssl" and so on.
const std::vector<Peer>& OtherPeers();

// What could not be had, for people to know: a library that is not installed, or an algorithm that it
// refuses.
const std::vector<std::string>& MissingPeers();

}  // namespace coffer::bench
