// Copies bytes and computes a checksum of them at the same time, which costs hardly more than the
// copy. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::kept {

// Returns base::Crc32cOfThirds of `from`. **Requires**: both have the same size and don't overlap.
uint32_t CopyWithSum(std::span<const std::byte> from, std::span<std::byte> to);

}  // namespace penstock::kept
