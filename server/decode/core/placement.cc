#include "server/decode/core/placement.h"

#include <algorithm>

namespace penstock::decode {
namespace {

// As torchvision's Resize(int): the shorter side becomes `resize`, the other side int(resize · long
// / short).
uint32_t ResizedSide(uint32_t side, uint32_t shorter, uint32_t resize) {
  return static_cast<uint32_t>(uint64_t{resize} * side / shorter);
}

// As torchvision's CenterCrop: round((resized - wanted) / 2), half to even.
uint32_t CenteredStart(uint32_t resized, uint32_t wanted) {
  const uint32_t margin = resized - wanted;
  const uint32_t half = margin / 2;
  return margin % 2 == 1 && half % 2 == 1 ? half + 1 : half;
}

Axis CenteredAxis(uint32_t side, uint32_t shorter, uint32_t resize, uint32_t wanted) {
  const uint32_t resized = ResizedSide(side, shorter, resize);
  return {side, resized, CenteredStart(resized, wanted), wanted};
}

}  // namespace

Placement Place(const Spec& spec, const Draw& draw) {
  const Box& crop = draw.crop;
  if (spec.geometry == Geometry::kRandomResizedCrop) {
    return {crop,
            {crop.width, spec.width, 0, spec.width},
            {crop.height, spec.height, 0, spec.height},
            draw.flip,
            spec.interpolation};
  }
  const uint32_t shorter = std::min(crop.width, crop.height);
  return {crop, CenteredAxis(crop.width, shorter, spec.resize, spec.width),
          CenteredAxis(crop.height, shorter, spec.resize, spec.height), draw.flip,
          spec.interpolation};
}

}  // namespace penstock::decode
