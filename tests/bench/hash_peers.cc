// SPDX-License-Identifier: Apache-2.0
// Each library in its plainest use: one context a message, made and freed within the timed call where the
// library asks for it.
#include "tests/bench/hash_peers.h"

#include "tests/bench/timed_rows.h"

#if HAVE_OFFICIAL_BLAKE3
#include <llvm-c/blake3.h>
#endif
#if HAVE_OPENSSL
#include <openssl/evp.h>
#include <openssl/provider.h>
#endif
#if HAVE_NETTLE
#include <nettle/ripemd160.h>
#include <nettle/sha3.h>
#endif
#if HAVE_XXHASH
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif
#if HAVE_SODIUM
#include <sodium.h>
#endif

namespace coffer::bench {
namespace {

struct Peers {
  std::vector<Peer> found;
  std::vector<std::string> missing;
};

void AddOpenSsl(Peers& peers) {
#if HAVE_OPENSSL
  OSSL_PROVIDER_load(nullptr, "default");
  OSSL_PROVIDER_load(nullptr, "legacy");
  const std::pair<const char*, const char*> algorithms[] = {
      {"md5", "MD5"},           {"sha1", "SHA1"},           {"sha256", "SHA256"},       {"sha512", "SHA512"},
      {"sha3-256", "SHA3-256"}, {"blake2b", "BLAKE2B-512"}, {"blake2s", "BLAKE2S-256"}, {"ripemd160", "RIPEMD160"}};
  for (const auto& [name, openssl_name] : algorithms) {
    const EVP_MD* const md = EVP_MD_fetch(nullptr, openssl_name, nullptr);
    if (md == nullptr) {
      peers.missing.push_back(std::string(name) + " openssl");
      continue;
    }
    EVP_MD_CTX* const context = EVP_MD_CTX_new();
    peers.found.push_back({std::string(name) + " openssl", [md, context](ByteSpan bytes) {
                             unsigned char out[EVP_MAX_MD_SIZE];
                             EVP_DigestInit_ex(context, md, nullptr);
                             EVP_DigestUpdate(context, bytes.data(), bytes.size());
                             EVP_DigestFinal_ex(context, out, nullptr);
                             Consume(out[0]);
                           }});
  }
#else
  peers.missing.push_back("openssl");
#endif
}

void AddNettle(Peers& peers) {
#if HAVE_NETTLE
  peers.found.push_back({"ripemd160 nettle", [](ByteSpan bytes) {
                           ripemd160_ctx context;
                           uint8_t out[RIPEMD160_DIGEST_SIZE];
                           ripemd160_init(&context);
                           ripemd160_update(&context, bytes.size(), bytes.data());
                           ripemd160_digest(&context, sizeof(out), out);
                           Consume(out[0]);
                         }});
  peers.found.push_back({"sha3-256 nettle", [](ByteSpan bytes) {
                           sha3_256_ctx context;
                           uint8_t out[SHA3_256_DIGEST_SIZE];
                           sha3_256_init(&context);
                           sha3_256_update(&context, bytes.size(), bytes.data());
                           sha3_256_digest(&context, sizeof(out), out);
                           Consume(out[0]);
                         }});
#else
  peers.missing.push_back("nettle");
#endif
}

void AddOthers(Peers& peers) {
#if HAVE_XXHASH
  peers.found.push_back({"xxh3-128 xxhash", [](ByteSpan bytes) {
                           Consume(static_cast<unsigned char>(XXH3_128bits(bytes.data(), bytes.size()).low64));
                         }});
#else
  peers.missing.push_back("xxhash");
#endif
#if HAVE_SODIUM
  if (sodium_init() >= 0) {
    peers.found.push_back({"blake2b sodium", [](ByteSpan bytes) {
                             unsigned char out[32];
                             crypto_generichash(out, sizeof(out), bytes.data(), bytes.size(), nullptr, 0);
                             Consume(out[0]);
                           }});
  } else {
    peers.missing.push_back("libsodium (sodium_init failed)");
  }
#else
  peers.missing.push_back("libsodium");
#endif
#if !HAVE_OFFICIAL_BLAKE3
  peers.missing.push_back("official BLAKE3 (llvm-19-dev)");
#endif
}

const Peers& AllPeers() {
  static const Peers* const peers = [] {
    auto* all = new Peers;
    AddOpenSsl(*all);
    AddNettle(*all);
    AddOthers(*all);
    return all;
  }();
  return *peers;
}

}  // namespace

const Peer* OfficialBlake3() {
#if HAVE_OFFICIAL_BLAKE3
  static const Peer* const peer = new Peer{"blake3 official", [](ByteSpan bytes) { HashStreamOfficially(bytes, 1); }};
  return peer;
#else
  return nullptr;
#endif
}

void HashStreamOfficially([[maybe_unused]] ByteSpan piece, [[maybe_unused]] size_t times) {
#if HAVE_OFFICIAL_BLAKE3
  llvm_blake3_hasher hasher;
  uint8_t out[32];
  llvm_blake3_hasher_init(&hasher);
  for (size_t i = 0; i < times; ++i) llvm_blake3_hasher_update(&hasher, piece.data(), piece.size());
  llvm_blake3_hasher_finalize(&hasher, out, sizeof(out));
  Consume(out[0]);
#endif
}

const std::vector<Peer>& OtherPeers() { return AllPeers().found; }
const std::vector<std::string>& MissingPeers() { return AllPeers().missing; }

}  // namespace coffer::bench
