// 64-bit XXH3, for digests and checksums of our own files. It does not resist deliberate
// collisions.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/strings/string_view.h"

namespace penstock::base {

// XXH3 of many bytes, computed with the widest instructions that this processor has.
uint64_t HashLarge(std::span<const std::byte> bytes);

inline uint64_t Hash(std::span<const std::byte> bytes) {
  constexpr size_t kLarge = 4096;  // from here on, a call more does not matter
  return bytes.size() < kLarge ? XXH3_64bits(bytes.data(), bytes.size()) : HashLarge(bytes);
}

inline uint64_t Hash(absl::string_view text) { return XXH3_64bits(text.data(), text.size()); }

// Hashes a sequence of texts and numbers unambiguously: each text is preceded by its length.
class Hasher {
 public:
  Hasher() { XXH3_64bits_reset(&state_); }
  void Add(absl::string_view text) {
    Add(uint64_t{text.size()});
    XXH3_64bits_update(&state_, text.data(), text.size());
  }
// g++ 12 takes loops over longer inputs, inlined here but never entered, for reads beyond `number`.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Warray-bounds"
  void Add(uint64_t number) { XXH3_64bits_update(&state_, &number, sizeof number); }
#pragma GCC diagnostic pop
  uint64_t Digest() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

}  // namespace penstock::base
