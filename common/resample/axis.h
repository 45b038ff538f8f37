// One axis of a resize. Pure.
#pragma once

#include <cstdint>

namespace penstock::resample {

// `in` inputs become `out` outputs, of which only [first, first + count) are computed: with `first`
// not zero, the image is resized and then cropped.
struct Axis {
  uint32_t in = 1;
  uint32_t out = 1;
  uint32_t first = 0;
  uint32_t count = 1;
};

}  // namespace penstock::resample
