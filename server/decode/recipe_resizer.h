// Resizes for recipes, with the decoder's resampler.
#pragma once

#include "server/augment/recipe/resizer.h"
#include "server/decode/resize.h"

namespace penstock::decode {

class RecipeResizer : public augment::Resizer {
 public:
  void Resize(const augment::ConstImageView& from, const augment::PixelBox& box,
              const augment::ImageView& to, augment::Sampling sampling) override {
    resizer_.Resize(from, {box.x, box.y, box.width, box.height}, to, sampling);
  }

 private:
  ImageResizer resizer_;
};

}  // namespace penstock::decode
