// CRC-32C (Castagnoli; RFC 3720, appendix B.4), as TFRecord files have it. Uses the processor's
// instruction where there is one. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::source {

uint32_t Crc32c(std::span<const std::byte> bytes);

// The same from a table: what Crc32c falls back to.
uint32_t PortableCrc32c(std::span<const std::byte> bytes);

// TFRecord's: turned by 15 bits, plus a constant, so that the sum of data that hold sums of their
// own is a good one.
inline uint32_t MaskedCrc32c(std::span<const std::byte> bytes) {
  const uint32_t sum = Crc32c(bytes);
  return (sum >> 15 | sum << 17) + 0xA282EAD8u;
}

}  // namespace penstock::source
