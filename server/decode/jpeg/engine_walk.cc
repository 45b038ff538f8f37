#include "server/decode/jpeg/engine_walk.h"

#include <algorithm>
#include <array>

#include "common/jpeg/header_walk.h"

namespace penstock::decode {
namespace {

constexpr uint8_t kEnd = 0xD9, kFirstRestart = 0xD0;

constexpr size_t kBlock = 256;  // bytes that are searched at once

// Whether a marker begins in the block: 0xFF, and not 0 after it. Another core has just written the
// file, so what comes next is fetched ahead; the processor itself does that only within a page.
[[gnu::always_inline]] inline bool BlockHasMarker(const uint8_t* block) {
  constexpr size_t kAhead = 2048, kLine = 64;
  for (size_t i = 0; i < kBlock; i += kLine) __builtin_prefetch(block + kAhead + i);
  uint8_t found = 0;
  for (size_t i = 0; i < kBlock; ++i)
    found |= static_cast<uint8_t>((block[i] == 0xFF) & (block[i + 1] != 0));
  return found != 0;
}

// Skips blocks without a marker, and returns where the first other one begins. Looks at one byte
// more than it skips.
[[gnu::always_inline]] inline size_t SkipBlocksBy(std::span<const uint8_t> file, size_t at) {
  while (at + kBlock < file.size() && !BlockHasMarker(&file[at])) at += kBlock;
  return at;
}

size_t SkipBlocksPortably(std::span<const uint8_t> file, size_t at) {
  return SkipBlocksBy(file, at);
}

#ifdef __x86_64__
[[gnu::target("avx2")]] size_t SkipBlocksAvx2(std::span<const uint8_t> file, size_t at) {
  return SkipBlocksBy(file, at);
}
#endif

size_t SkipBlocks(std::span<const uint8_t> file, size_t at) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return SkipBlocksAvx2(file, at);
#endif
  return SkipBlocksPortably(file, at);
}

// Where the next marker begins, from `at` on. A photograph's scan has a stuffed 0xFF 0x00 every few
// hundred bytes, so a search for 0xFF alone would stop at each.
size_t FindMarker(std::span<const uint8_t> file, size_t at) {
  at = SkipBlocks(file, at);
  while (at + 1 < file.size() && (file[at] != 0xFF || file[at + 1] == 0)) ++at;
  return at;
}

uint32_t RestartsOfWholeScan(const jpeg::HeaderWalk& header) {
  if (header.restart_interval == 0) return 0;
  const jpeg::JpegHeaderFacts& facts = header.facts;
  const auto mcus_of = [](uint32_t side, const std::array<uint8_t, 4>& factors) {
    const uint32_t mcu = 8 * std::max<uint32_t>(*std::ranges::max_element(factors), 1);
    return (side + mcu - 1) / mcu;
  };
  const uint32_t mcus =
      mcus_of(facts.width, facts.horizontal) * mcus_of(facts.height, facts.vertical);
  return (mcus - 1) / header.restart_interval;
}

// Where the scan ends, its end marker included.
std::optional<size_t> WalkScan(std::span<const uint8_t> file, const jpeg::HeaderWalk& header) {
  size_t at = header.bytes;
  for (uint32_t restarts = 0;; ++restarts) {
    at = FindMarker(file, at);
    if (at + 1 >= file.size()) return std::nullopt;
    const uint8_t marker = file[at + 1];
    at += 2;
    if (marker == kEnd && restarts == RestartsOfWholeScan(header)) return at;
    if (header.restart_interval == 0 || marker != kFirstRestart + restarts % 8) return std::nullopt;
  }
}

}  // namespace

std::optional<EngineWalk> WalkForEngines(std::span<const std::byte> file) {
  const std::optional<jpeg::HeaderWalk> header = jpeg::WalkHeader(file);
  if (!header) return std::nullopt;
  const std::span bytes(reinterpret_cast<const uint8_t*>(file.data()), file.size());
  const std::optional<size_t> end = WalkScan(bytes, *header);
  if (!end) return std::nullopt;
  return EngineWalk{header->facts, *end};
}

}  // namespace penstock::decode
