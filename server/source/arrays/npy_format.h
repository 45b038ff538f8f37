// The .npy format of NumPy
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): a magic string, a
// version, the header's length, a Python literal that says type, order and shape, and then the
// elements. Versions 1.0 to 3.0. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/status.h"

namespace penstock::source {

struct NpyHeader {
  base::DType type = base::DType::kUInt8;
  std::vector<uint64_t> shape;  // one dimension at least, each at least 1; the last is the fastest
  uint64_t header_bytes = 0;    // in front of the elements

  uint64_t items() const { return shape[0]; }
  uint64_t item_bytes = 0;  // of one of items(); header_bytes + item_bytes · items() fits 63 bits
};

// Of what Penstock takes: a header names no fields and is a few dozen bytes long.
inline constexpr size_t kLongestNpyHeader = 64 * 1024;

// Whether these are the first bytes of such a file.
bool IsNpy(std::span<const std::byte> begin);

// `begin`: the first bytes of the file, kLongestNpyHeader of them where it has so many. `path` is
// for messages. InvalidArgument names what is wrong, at which byte, what was wanted, and what to
// do.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::span<const std::byte> begin, const std::string& path);

}  // namespace penstock::source
