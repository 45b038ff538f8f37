// Labels of synthetic rows, which are computed rather than stored: the daemon and the consumer
// compute the same numbers. client/finish/synthetic.h defines the rows. Pure; device code may use
// it.
#pragma once

#include <cstdint>

#include "common/base/philox.h"

namespace penstock::base {

// The last word of the Philox counter for labels.
inline constexpr uint32_t kSyntheticLabelBlock = 0xFFFFFFFF;

// 0 ≤ label < classes; the same in every epoch.
constexpr int64_t SyntheticLabel(uint64_t seed, uint64_t sample, uint32_t classes) {
  const PhiloxWords words = Philox4x32(
      {static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32), 0, kSyntheticLabelBlock},
      seed);
  return static_cast<int64_t>((uint64_t{words[0]} * classes) >> 32);
}

}  // namespace penstock::base
