// Translates a spec and a draw for one image: which box of the image is resized to what size and
// how, and which part of the result is the row. Pure.
#pragma once

#include <cstdint>

#include "common/base/interpolation.h"
#include "common/resample/axis.h"
#include "server/decode/core/spec.h"

namespace penstock::decode {

using resample::Axis;

struct Placement {
  Box crop;  // the box of the image to which the axes' inputs refer
  Axis x;
  Axis y;
  bool flip = false;
  base::Interpolation interpolation = base::Interpolation::kBilinear;
};

Placement Place(const Spec& spec, const Draw& draw);

}  // namespace penstock::decode
