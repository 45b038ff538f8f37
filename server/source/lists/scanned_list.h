// What a list says: the path of each sample's image, labels, and further columns. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/dtype.h"

namespace penstock::source {

inline constexpr uint64_t kMostListBytes = uint64_t{2} << 30;
inline constexpr uint32_t kLongestListPath = 4095;    // PATH_MAX without the NUL byte
inline constexpr size_t kMostListColumns = 256;       // with those that are left out
inline constexpr size_t kLongestListColumnName = 64;  // bytes

struct ListedRow {
  uint32_t path_bytes = 0;
  uint32_t line = 0;  // in which the row begins, from 1; the maximum also stands for later ones
};
static_assert(sizeof(ListedRow) == 8);

struct ListColumn {
  std::string name;
  base::DType type = base::DType::kInt64;  // or kFloat64, kFloat32
  std::vector<uint64_t> values = {};       // the bits of each sample's value, in the lowest bytes
};

struct ScannedList {
  std::vector<char> paths = {};  // one after another, as the list has them
  std::vector<ListedRow> rows = {};
  bool labeled = false;
  std::vector<int64_t> labels = {};  // one per row if `labeled`
  std::vector<std::string> classes = {};
  std::vector<ListColumn> columns = {};  // those of numbers
  std::string left_out = {};             // for people: which other columns there are, and why
};

}  // namespace penstock::source
