// What a parser of annotations found, as lists of numbers.
#pragma once

#include <cstring>
#include <vector>

#include "server/source/annotated/annotations.h"

namespace penstock::source {

template <typename Value>
std::vector<Value> ValuesOf(const Annotations& all, ObjectValue what) {
  for (const ObjectColumn& column : all.columns) {
    if (column.what != what) continue;
    std::vector<Value> values(column.values.size() / sizeof(Value));
    std::memcpy(values.data(), column.values.data(), column.values.size());
    return values;
  }
  return {};
}

inline std::vector<uint32_t> CountsOf(const Annotations& all) {
  std::vector<uint32_t> counts;
  for (const AnnotatedImage& image : all.images) counts.push_back(image.objects);
  return counts;
}

}  // namespace penstock::source
