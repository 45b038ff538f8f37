// What a simulated worker writes to a row, in two halves: which sample, drawn with which key. A row
// that two writers tore, or that holds another sample than its batch says, is recognized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "server/decode/core/spec.h"

namespace penstock::simulation {

struct Tag {
  uint64_t sample = 0, seed = 0, epoch = 0;  // the first half
  uint64_t drawn = 0, check = 0, again = 0;  // the second
  bool operator==(const Tag&) const = default;
};
inline constexpr uint32_t kSide = 4;  // of an image: 4 × 4 × 3 bytes
static_assert(sizeof(Tag) == kSide * kSide * 3);

inline Tag TagOf(uint64_t sample, const decode::DrawKey& key) {
  const uint64_t check = (sample * 31 + key.seed) * 31 + key.epoch * 977 + key.sample;
  return {sample, key.seed, key.epoch, key.sample, check, ~check};
}

inline void WriteHalf(std::byte* row, const Tag& tag, int half) {
  const size_t bytes = sizeof(Tag) / 2;
  std::memcpy(row + half * bytes, reinterpret_cast<const std::byte*>(&tag) + half * bytes, bytes);
}

inline Tag ReadTag(const std::byte* row) {
  Tag tag;
  std::memcpy(&tag, row, sizeof(tag));
  return tag;
}

}  // namespace penstock::simulation
