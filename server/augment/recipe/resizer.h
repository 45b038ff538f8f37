// How a recipe resizes. The decoder has the implementation, which it shares with its own geometry.
#pragma once

#include "server/augment/image.h"
#include "server/augment/recipe/random_box.h"
#include "server/augment/warp/sampling.h"

namespace penstock::augment {

class Resizer {
 public:
  virtual ~Resizer() = default;

  // Resizes a box of `from` to all of `to`, exactly as Pillow's crop and resize.
  // **Requires**: the box is not empty and lies within `from`; `to` has as many channels, and
  // doesn't overlap `from`. **Errors**: std::bad_alloc.
  virtual void Resize(const ConstImageView& from, const PixelBox& box, const ImageView& to,
                      Sampling sampling) = 0;
};

}  // namespace penstock::augment
