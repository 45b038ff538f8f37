// The IDX format, in which MNIST and its relatives come (http://yann.lecun.com/exdb/mnist): a magic
// number (two zero bytes, the type of an element, how many dimensions), each dimension's size as 32
// bits big endian, then the elements, the last dimension fastest. Pure.
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
  std::array<uint32_t, 4> sizes = {};  // the first `dimensions` of them, each at least 1

  uint64_t header_bytes() const { return 4 + 4 * uint64_t{dimensions}; }
  uint64_t items() const { return sizes[0]; }
  uint64_t item_bytes = 1;  // of one of items(); item_bytes · items() fits 63 bits
};

inline constexpr size_t kLongestIdxHeader = 20;

// What a file must be: images of 3 dimensions (items, height, width) or 4 (channels last), labels
// of 1.
enum class IdxRole { kImages, kLabels };

// `begin`: the first bytes of the file, kLongestIdxHeader of them where it has so many. `path` is
// for messages. InvalidArgument names what is wrong, where, and what was wanted.
absl::StatusOr<IdxHeader> ParseIdxHeader(std::span<const std::byte> begin, IdxRole role,
                                         const std::string& path);

}  // namespace penstock::source
