// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011): maps a counter and a key to four random words. Pure, and constexpr so that GPU kernels can
// use it.
#pragma once

#include <array>
#include <cstdint>

namespace penstock::base {

using PhiloxWords = std::array<uint32_t, 4>;

constexpr PhiloxWords Philox4x32(PhiloxWords counter, uint64_t key) {
  uint32_t key_low = static_cast<uint32_t>(key);
  uint32_t key_high = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key_low, static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key_high, static_cast<uint32_t>(a)};
    key_low += 0x9E3779B9;
    key_high += 0xBB67AE85;
  }
  return counter;
}

}  // namespace penstock::base
