#include "common/base/dtype.h"

#include <iterator>

#include "common/base/check.h"

namespace penstock::base {
namespace {

struct Row {
  DType type;
  absl::string_view name;
  size_t bytes;
};

constexpr Row kTypes[] = {
    {DType::kBool, "bool", 1},         {DType::kUInt8, "uint8", 1},
    {DType::kInt8, "int8", 1},         {DType::kUInt16, "uint16", 2},
    {DType::kInt16, "int16", 2},       {DType::kUInt32, "uint32", 4},
    {DType::kInt32, "int32", 4},       {DType::kUInt64, "uint64", 8},
    {DType::kInt64, "int64", 8},       {DType::kFloat16, "float16", 2},
    {DType::kBFloat16, "bfloat16", 2}, {DType::kFloat32, "float32", 4},
    {DType::kFloat64, "float64", 8},
};

const Row& RowOf(DType type) {
  PENSTOCK_CHECK(IsKnown(type));
  return kTypes[static_cast<size_t>(type) - 1];  // kTypes is ordered by number
}

}  // namespace

bool IsKnown(DType type) {
  const size_t index = static_cast<size_t>(type) - 1;
  return index < std::size(kTypes) && kTypes[index].type == type;
}

size_t ElementBytes(DType type) { return RowOf(type).bytes; }

absl::string_view DTypeName(DType type) { return RowOf(type).name; }

std::optional<DType> DTypeFromName(absl::string_view name) {
  for (const Row& row : kTypes)
    if (row.name == name) return row.type;
  return std::nullopt;
}

}  // namespace penstock::base
