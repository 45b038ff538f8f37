// The IDX format of MNIST and its relatives (http://yann.lecun.com/exdb/mnist): a magic number (two
// zero bytes, the element type, the number of dimensions), each dimension's size as a 32-bit
// big-endian number, then the elements in row-major order. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/base/status.h"

namespace penstock::source {

struct IdxHeader {
  uint32_t dimensions = 0;
  std::array<uint32_t, 4> sizes = {};  // only the first `dimensions` are set, each at least 1

  uint64_t header_bytes() const { return 4 + 4 * uint64_t{dimensions}; }
  uint64_t items() const { return sizes[0]; }
  uint64_t item_bytes = 1;  // bytes per item; item_bytes · items() fits in 63 bits
};

inline constexpr size_t kLongestIdxHeader = 20;

// The role decides the number of dimensions: images have 3 (items, height, width) or 4 (channels
// last), labels 1.
enum class IdxRole { kImages, kLabels };

// `begin`: the first kLongestIdxHeader bytes of the file, or all of it if it is shorter. `path` is
// for messages.
// **Errors**: InvalidArgument names the problem, its offset and what was expected.
absl::StatusOr<IdxHeader> ParseIdxHeader(std::span<const std::byte> begin, IdxRole role,
                                         const std::string& path);

}  // namespace penstock::source
