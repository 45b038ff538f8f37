// XXH3, 64 bits: for digests and checksums of our own files. Not against people who mean harm.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/strings/string_view.h"

namespace penstock::source {

inline uint64_t Hash(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

inline uint64_t Hash(absl::string_view text) { return XXH3_64bits(text.data(), text.size()); }

// The hash of a sequence of texts and numbers, each told apart from the next.
class Hasher {
 public:
  Hasher() { XXH3_64bits_reset(&state_); }
  void Add(absl::string_view text) {
    Add(uint64_t{text.size()});
    XXH3_64bits_update(&state_, text.data(), text.size());
  }
  void Add(uint64_t number) { XXH3_64bits_update(&state_, &number, sizeof number); }
  uint64_t Digest() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

}  // namespace penstock::source
