// What a tensor's elements are. Little endian, as every machine that Penstock runs on. The numbers
// are part of fingerprints: they never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace penstock::base {

enum class DType : uint32_t {
  kBool = 1,  // one byte, 0 or 1
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kUInt32 = 6,
  kInt32 = 7,
  kUInt64 = 8,
  kInt64 = 9,
  kFloat16 = 10,
  kBFloat16 = 11,
  kFloat32 = 12,
  kFloat64 = 13,
};

bool IsKnown(DType type);  // a number from outside may be none of these
size_t ElementBytes(DType type);

// "uint8", "bfloat16", …: as NumPy and torch call them.
absl::string_view DTypeName(DType type);
std::optional<DType> DTypeFromName(absl::string_view name);

}  // namespace penstock::base
