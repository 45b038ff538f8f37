// The random draw that ../plan/README.md specifies.
#include "common/base/beta.h"
#include "server/augment/recipe/random_box.h"
#include "server/decode/core/spec.h"

namespace penstock::decode {
namespace {

constexpr uint32_t kFirstAttempt = 0;  // operations 0 … 9: one attempt at a crop each
constexpr uint32_t kFlipOperation = 10;

Box RandomCrop(const Spec& spec, const base::DrawSource& source, uint32_t width, uint32_t height) {
  const augment::PixelBox box =
      augment::RandomBox({spec.scale_min, spec.scale_max, spec.ratio_min, spec.ratio_max},
                         {width, height}, source, kFirstAttempt);
  return {box.x, box.y, box.width, box.height};
}

}  // namespace

Draw DrawFor(const Spec& spec, const DrawKey& key, uint32_t image_width, uint32_t image_height) {
  const base::DrawSource source = {
      .seed = key.seed, .epoch = key.epoch, .sample = key.sample, .operation = FirstOperation(key)};
  Draw draw;
  draw.crop = spec.geometry == Geometry::kRandomResizedCrop
                  ? RandomCrop(spec, source, image_width, image_height)
                  : Box{0, 0, image_width, image_height};
  draw.flip = source.Words(kFlipOperation)[0] / 4294967296.0 < spec.flip_probability;
  return draw;
}

}  // namespace penstock::decode
