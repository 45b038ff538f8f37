// NumPy's .npy format (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): a
// magic string, a version, the header's length, a Python literal with type, order and shape, then
// the elements. Versions 1.0 to 3.0. Pure.
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
  std::vector<uint64_t> shape;  // at least one dimension, each at least 1 (see NoItems); row-major
  uint64_t header_bytes = 0;    // before the elements

  uint64_t items() const { return shape[0]; }
  uint64_t item_bytes = 0;  // bytes per item; header_bytes + item_bytes · items() fits in 63 bits
};

// Limit for headers. Those that Penstock accepts are a few dozen bytes long, because they contain
// no field names.
inline constexpr size_t kLongestNpyHeader = 64 * 1024;

// Whether a file that begins with these bytes is a .npy file.
bool IsNpy(std::span<const std::byte> begin);

// Whether an array without items is one: then its first dimension may be 0, and so may the others.
enum class NoItems { kRefuse, kAllow };

// `begin`: the first kLongestNpyHeader bytes of the file, or all of it if it is shorter. `path` is
// for messages.
// **Errors**: InvalidArgument names the problem, its offset, what was expected, and what to do.
absl::StatusOr<NpyHeader> ParseNpyHeader(std::span<const std::byte> begin, const std::string& path,
                                         NoItems no_items = NoItems::kRefuse);

}  // namespace penstock::source
