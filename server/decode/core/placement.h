// What a spec and a draw mean for one image: which box of it is resized to which size, and which
// outputs of that resize are the row. Pure.
#pragma once

#include <cstdint>

#include "server/decode/core/spec.h"

namespace penstock::decode {

// One axis of a resize: `in` samples become `out`, of which only [first, first + count) are
// computed.
struct Axis {
  uint32_t in = 1;
  uint32_t out = 1;
  uint32_t first = 0;
  uint32_t count = 1;
};

struct Placement {
  Box crop;  // the box of the image that the axes' inputs count from
  Axis x;
  Axis y;
  bool flip = false;
};

Placement Place(const Spec& spec, const Draw& draw);

}  // namespace penstock::decode
