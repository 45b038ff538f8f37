// Numbers out of a file's bytes. The caller has checked that they are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::decode {

enum class Endian { kLittle, kBig };

// `count` (1 … 4) bytes at `offset`.
inline uint32_t ReadNumber(std::span<const std::byte> bytes, size_t offset, size_t count,
                           Endian endian) {
  uint32_t number = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = endian == Endian::kBig ? i : count - 1 - i;
    number = number << 8 | std::to_integer<uint32_t>(bytes[offset + at]);
  }
  return number;
}

}  // namespace penstock::decode
