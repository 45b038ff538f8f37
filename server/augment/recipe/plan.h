// What a recipe does to one image: the operations that the draws have chosen, with their
// parameters.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "common/base/beta.h"
#include "server/augment/color/blur.h"
#include "server/augment/recipe/random_box.h"
#include "server/augment/recipe/recipe.h"
#include "server/augment/warp/frame.h"
#include "server/augment/warp/matrix.h"
#include "server/augment/warp/rotate.h"
#include "server/augment/warp/sampling.h"

namespace penstock::augment {

// Operations with one number or none, which keep the image's size.
enum class PixelChange : uint8_t {
  kFlipHorizontal,
  kFlipVertical,
  kGrayscale,
  kEqualize,
  kAutocontrast,
  kInvert,
  kBrightness,  // these have a factor
  kContrast,
  kSaturation,
  kSharpness,
  kHue,        // the shift
  kSolarize,   // the threshold
  kPosterize,  // the bits
};
struct ChangeBy {
  PixelChange what;
  double value = 0;
};

struct RotateBy {
  Rotation rotation;
  Sampler sampler;
};

struct AffineBy {
  AffineArguments arguments;
  Sampler sampler;
};

struct PerspectiveBy {
  Corners start, end;
  PerspectiveCoefficients coefficients;
  Sampler sampler;
};

struct PadBy {
  Padding padding;
  PadStyle style;
};

struct ResizeBy {
  PixelBox box;  // which becomes the image
  Sampling sampling;
};

struct CropAt {
  CropOrigin origin;
};

// AugMix: the image times `weight`, plus each chain's result times the chain's weight. The chains
// follow, then kMixEnd. All chains begin with the same image.
struct MixBegin {
  float weight;
};
struct ChainEnd {
  float weight;
};
struct MixEnd {};

using ActionKind = std::variant<ChangeBy, RotateBy, AffineBy, PerspectiveBy, PadBy, CropAt,
                                ResizeBy, Blur, MixBegin, ChainEnd, MixEnd>;

struct RecipeAction {
  ActionKind what;
  ImageSize size;  // of the image after it
};

enum class RecipeOutcome : uint8_t {
  kDone,
  kTooSmall,  // a step needs a larger image, where torchvision raises an exception
  kTooLarge,  // for the limits
};

struct RecipeLimits {
  uint64_t max_pixels = 100'000'000;  // of each intermediate image
};

// Draws what the recipe does to an image of this size. `source` identifies the image; its operation
// is the view's number times 2²⁴. `actions` is cleared first.
// **Requires**: Validate(recipe). **Errors**: kTooSmall, kTooLarge; `actions` is then of no use.
RecipeOutcome MakePlan(const TransformRecipe& recipe, const base::DrawSource& source,
                       ImageSize size, const RecipeLimits& limits,
                       std::vector<RecipeAction>* actions);

}  // namespace penstock::augment
