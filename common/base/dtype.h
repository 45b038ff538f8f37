// The element types of tensors. Elements are little endian, like every machine that Penstock runs
// on. The numbers are part of fingerprints: never change them.
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

bool IsKnown(DType type);  // false for an unknown number from outside
size_t ElementBytes(DType type);

// "uint8", "bfloat16", …: the names that NumPy and torch use.
absl::string_view DTypeName(DType type);
std::optional<DType> DTypeFromName(absl::string_view name);

}  // namespace penstock::base
