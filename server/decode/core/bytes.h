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

// One, two and four of them, the lowest first.
inline uint32_t ByteAt(std::span<const std::byte> bytes, size_t offset) {
  return std::to_integer<uint32_t>(bytes[offset]);
}
inline uint32_t Little16(std::span<const std::byte> bytes, size_t offset) {
  return ReadNumber(bytes, offset, 2, Endian::kLittle);
}
inline uint32_t Little32(std::span<const std::byte> bytes, size_t offset) {
  return ReadNumber(bytes, offset, 4, Endian::kLittle);
}

// The number whose bytes, the first one the highest, are these letters: how containers name chunks.
constexpr uint32_t FourLetters(const char (&letters)[5]) {
  uint32_t name = 0;
  for (int i = 0; i < 4; ++i) name = name << 8 | static_cast<uint8_t>(letters[i]);
  return name;
}

}  // namespace penstock::decode
