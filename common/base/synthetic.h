// The labels of rows that nobody stores: what the daemon announces and what the consumer makes are
// the same numbers. client/finish/synthetic.h says what the rows are. Pure; device code may use it.
#pragma once

#include <cstdint>

#include "common/base/philox.h"

namespace penstock::base {

// The counter's last word for labels.
inline constexpr uint32_t kSyntheticLabelBlock = 0xFFFFFFFF;

// 0 ≤ label < classes; the same in every epoch.
constexpr int64_t SyntheticLabel(uint64_t seed, uint64_t sample, uint32_t classes) {
  const PhiloxWords words = Philox4x32(
      {static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32), 0, kSyntheticLabelBlock},
      seed);
  return static_cast<int64_t>((uint64_t{words[0]} * classes) >> 32);
}

}  // namespace penstock::base
