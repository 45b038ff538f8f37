#include "common/base/crc32c.h"

#include <array>
#include <cstring>

namespace penstock::base {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // reflected
constexpr size_t kLanes = 8;

// Row k: how a byte that is k bytes before the end of a group of eight changes the CRC (Intel's
// slicing-by-8).
using Tables = std::array<std::array<uint32_t, 256>, kLanes>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum & 1) != 0 ? sum >> 1 ^ kPolynomial : sum >> 1;
    tables[0][byte] = sum;
  }
  for (size_t lane = 1; lane < kLanes; ++lane)
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[lane - 1][byte];
      tables[lane][byte] = before >> 8 ^ tables[0][before & 0xFF];
    }
  return tables;
}

constexpr Tables kTables = MakeTables();

#if defined(__x86_64__)
uint64_t WordAt(const std::byte* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

__attribute__((target("sse4.2"))) uint32_t ByInstruction(std::span<const std::byte> bytes) {
  uint64_t sum = 0xFFFFFFFF;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8))
    sum = __builtin_ia32_crc32di(sum, WordAt(bytes.data()));
  auto rest = static_cast<uint32_t>(sum);
  for (const std::byte byte : bytes)
    rest = __builtin_ia32_crc32qi(rest, std::to_integer<uint8_t>(byte));
  return ~rest;
}

// **Requires**: `third` is a multiple of 8.
__attribute__((target("sse4.2"))) Thirds ThirdsByInstruction(const std::byte* bytes, size_t third) {
  uint64_t a = 0xFFFFFFFF, b = a, c = a;
  for (const std::byte* const end = bytes + third; bytes != end; bytes += 8) {
    a = __builtin_ia32_crc32di(a, WordAt(bytes));
    b = __builtin_ia32_crc32di(b, WordAt(bytes + third));
    c = __builtin_ia32_crc32di(c, WordAt(bytes + 2 * third));
  }
  return {~static_cast<uint32_t>(a), ~static_cast<uint32_t>(b), ~static_cast<uint32_t>(c)};
}
#endif

}  // namespace

uint32_t PortableCrc32c(std::span<const std::byte> bytes) {
  uint32_t sum = 0xFFFFFFFF;
  for (; bytes.size() >= kLanes; bytes = bytes.subspan(kLanes)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    word ^= sum;
    sum = 0;
    for (size_t lane = 0; lane < kLanes; ++lane)
      sum ^= kTables[kLanes - 1 - lane][word >> (8 * lane) & 0xFF];
  }
  for (const std::byte byte : bytes)
    sum = sum >> 8 ^ kTables[0][(sum ^ std::to_integer<uint32_t>(byte)) & 0xFF];
  return ~sum;
}

uint32_t Crc32c(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return ByInstruction(bytes);
#endif
  return PortableCrc32c(bytes);
}

uint32_t SumOfSums(const Thirds& thirds, std::span<const std::byte> rest) {
  const std::array<uint32_t, 4> sums = {thirds[0], thirds[1], thirds[2], Crc32c(rest)};
  return Crc32c(std::as_bytes(std::span(sums)));
}

uint32_t Crc32cOfThirds(std::span<const std::byte> bytes) {
  const size_t third = ThirdOf(bytes.size());
  const std::span<const std::byte> rest = bytes.subspan(3 * third);
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return SumOfSums(ThirdsByInstruction(bytes.data(), third), rest);
#endif
  Thirds thirds;
  for (size_t i = 0; i < 3; ++i) thirds[i] = PortableCrc32c(bytes.subspan(i * third, third));
  return SumOfSums(thirds, rest);
}

}  // namespace penstock::base
