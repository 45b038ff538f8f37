// CRC-32C (Castagnoli; RFC 3720, appendix B.4), as used by TFRecord files. Uses the processor's CRC
// instruction if it has one. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::base {

uint32_t Crc32c(std::span<const std::byte> bytes);

// Table-driven version, the fallback of Crc32c.
uint32_t PortableCrc32c(std::span<const std::byte> bytes);

// The CRC-32C of four CRC-32Cs, those of the bytes' thirds, which are whole words, and of the rest.
// The processor computes the thirds at the same time: about 20 GB/s where Crc32c reaches 8.
uint32_t Crc32cOfThirds(std::span<const std::byte> bytes);

// Its parts, for those who compute the sums of the thirds themselves.
using Thirds = std::array<uint32_t, 3>;
inline size_t ThirdOf(size_t bytes) { return bytes / 24 * 8; }
uint32_t SumOfSums(const Thirds& thirds, std::span<const std::byte> rest);

// TFRecord's masked CRC: rotated by 15 bits plus a constant, because the CRC of data that contains
// CRCs is weak.
inline uint32_t MaskedCrc32c(std::span<const std::byte> bytes) {
  const uint32_t sum = Crc32c(bytes);
  return (sum >> 15 | sum << 17) + 0xA282EAD8u;
}

}  // namespace penstock::base
