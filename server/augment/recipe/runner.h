// Runs recipes on images.
//
// **Ownership**: keeps memory for two images and for intermediate values between images.
// **Thread safety**: one RecipeRunner serves one thread. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/aligned_buffer.h"
#include "server/augment/image.h"
#include "server/augment/recipe/plan.h"
#include "server/augment/recipe/recipe.h"
#include "server/augment/recipe/resizer.h"
#include "server/augment/scratch.h"

namespace penstock::augment {

class RecipeRunner {
 public:
  // **Requires**: `resizer` outlives the runner. It may be null if no recipe resizes.
  explicit RecipeRunner(const RecipeLimits& limits, Resizer* resizer = nullptr)
      : limits_(limits), resizer_(resizer) {}

  // Draws for `image` as MakePlan does, and applies the result. `image` is changed, and holds
  // intermediate images. The last one is written to `row`, which may be the same memory or must not
  // overlap `image`.
  // **Requires**: Validate(recipe); the last image has the size of `row` (SizeAfter), and `row` the
  // channels of `image`. **Errors**: kTooSmall, kTooLarge; std::bad_alloc. `image` and `row` are
  // then unspecified.
  RecipeOutcome Run(const TransformRecipe& recipe, const base::DrawSource& source,
                    const ImageView& image, const ImageView& row);

  // The same for a plan that is there already.
  void Apply(const std::vector<RecipeAction>& actions, const ImageView& image,
             const ImageView& row);

  // Memory for an image that Run is to be called with, valid until the call after that one.
  // **Errors**: std::bad_alloc.
  ImageView Reserve(ImageSize size, uint32_t channels);

 private:
  const RecipeLimits limits_;
  Resizer* const resizer_;
  std::vector<RecipeAction> actions_;
  base::AlignedBuffer loaded_;
  base::AlignedBuffer spare_[2];
  Scratch scratch_;
  // AugMix: the sum so far, and the image with which all chains begin.
  std::vector<float> mix_;
  std::vector<uint8_t> original_;

  friend class Application;
};

}  // namespace penstock::augment
