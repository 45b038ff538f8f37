// How lists of names are written: the samples of a split, or classes. Plain values.
#pragma once

#include <cstdint>

namespace penstock::source {

inline constexpr uint64_t kMostNamesBytes = uint64_t{1} << 30;

enum class NamesFormat : uint32_t {
  kLines = 0,  // one name per line; empty lines are skipped
  kYaml = 1,   // the key `names` of a file of Ultralytics: a list, or numbers from 0 with names
};

}  // namespace penstock::source
