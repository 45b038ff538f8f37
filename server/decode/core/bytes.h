// Reads numbers from a file's bytes. **Requires**: the bytes exist; the functions don't check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::decode {

enum class Endian { kLittle, kBig };

// Reads `count` (1 … 4) bytes at `offset`.
inline uint32_t ReadNumber(std::span<const std::byte> bytes, size_t offset, size_t count,
                           Endian endian) {
  uint32_t number = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = endian == Endian::kBig ? i : count - 1 - i;
    number = number << 8 | std::to_integer<uint32_t>(bytes[offset + at]);
  }
  return number;
}

// One-, two- and four-byte little-endian numbers.
inline uint32_t ByteAt(std::span<const std::byte> bytes, size_t offset) {
  return std::to_integer<uint32_t>(bytes[offset]);
}
inline uint32_t Little16(std::span<const std::byte> bytes, size_t offset) {
  return ReadNumber(bytes, offset, 2, Endian::kLittle);
}
inline uint32_t Little32(std::span<const std::byte> bytes, size_t offset) {
  return ReadNumber(bytes, offset, 4, Endian::kLittle);
}

// The big-endian number made of these four letters, as containers name chunks.
constexpr uint32_t FourLetters(const char (&letters)[5]) {
  uint32_t name = 0;
  for (int i = 0; i < 4; ++i) name = name << 8 | static_cast<uint8_t>(letters[i]);
  return name;
}

}  // namespace penstock::decode
