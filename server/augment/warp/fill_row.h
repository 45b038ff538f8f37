// Writes runs of one colour. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "server/augment/warp/sampling.h"

namespace penstock::augment {

inline void FillPixels(uint8_t* out, size_t pixels, uint32_t channels, const Fill& fill) {
  const uint8_t* const v = fill.values;
  if (channels == 1 || (v[0] == v[1] && v[1] == v[2])) {
    if (pixels != 0) memset(out, v[0], pixels * channels);
    return;
  }
  for (size_t i = 0; i < pixels; ++i) memcpy(out + 3 * i, v, 3);
}

}  // namespace penstock::augment
