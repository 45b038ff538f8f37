// A recipe: the transforms that follow an image's decoding, as torchvision's classes of the same
// names define them. Pure.
//
// Steps run in order. Groups come before the steps that they contain. What is drawn at random, and
// how, is in ../../plan/README.md; README.md beside this file has the table of operations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "common/base/status.h"
#include "server/augment/warp/frame.h"
#include "server/augment/warp/matrix.h"
#include "server/augment/warp/sampling.h"

namespace penstock::augment {

// The numbers are part of a feed's fingerprint, and never change.
enum class Op : uint32_t {
  kNone = 0,
  // Groups.
  kCompose = 1,
  kRandomApply = 2,
  kRandomChoice = 3,
  kRandomOrder = 4,
  // Geometry.
  kHorizontalFlip = 10,
  kVerticalFlip = 11,
  kRotation = 12,
  kAffine = 13,
  kPerspective = 14,
  kPad = 15,
  kRandomCrop = 16,
  kCenterCrop = 17,
  kResize = 18,
  kRandomResizedCrop = 19,
  kRandomShortestSize = 20,
  kScaleJitter = 21,
  kRandomResize = 22,
  // Colour.
  kColorJitter = 30,
  kGrayscale = 31,
  kGaussianBlur = 32,
  kSolarize = 33,
  kPosterize = 34,
  kEqualize = 35,
  kAutocontrast = 36,
  kInvert = 37,
  kAdjustSharpness = 38,
  // Policies.
  kRandAugment = 50,
  kTrivialAugmentWide = 51,
  kAutoAugment = 52,
  kAugMix = 53,
};

// `mode` of kAutoAugment.
enum class Policy : uint8_t { kImageNet = 0, kCifar10 = 1, kSvhn = 2 };

// Bits of `flags`.
inline constexpr uint8_t kHasCenter = 1;    // kRotation, kAffine: else the image's center
inline constexpr uint8_t kExpand = 2;       // kRotation
inline constexpr uint8_t kPadIfNeeded = 4;  // kRandomCrop
inline constexpr uint8_t kAllOps = 8;       // kAugMix

// What `args` hold for each operation, in torchvision's units. Arguments that torchvision may lack
// (None) have a value with the same effect, in parentheses. Operations that are missing here have
// no arguments. Unused elements are 0.
struct RotationArgs {
  enum : int { kDegreesMin, kDegreesMax, kCenterX, kCenterY };
};
struct AffineArgs {  // shears in degrees (0); scale (1); translate as a fraction of the side (0)
  enum : int {
    kDegreesMin,
    kDegreesMax,
    kTranslateX,
    kTranslateY,
    kScaleMin,
    kScaleMax,
    kShearXMin,
    kShearXMax,
    kShearYMin,
    kShearYMax,
    kCenterX,
    kCenterY,
  };
};
struct PerspectiveArgs {
  enum : int { kDistortion };
};
struct PadArgs {  // pixels
  enum : int { kLeft, kTop, kRight, kBottom };
};
struct CropArgs {  // kRandomCrop and kCenterCrop; the padding (0) for kRandomCrop only
  enum : int { kHeight, kWidth, kPadLeft, kPadTop, kPadRight, kPadBottom };
};
struct ResizeArgs {  // without a width (0), the height is that of the shorter side
  enum : int { kHeight, kWidth, kMaxSize };  // of the longer side; 0: none
};
struct ResizedCropArgs {
  enum : int { kHeight, kWidth, kScaleMin, kScaleMax, kRatioMin, kRatioMax };
};
struct ShortestSizeArgs {               // up to kMaxShortestSizes sizes; the first 0 ends them
  enum : int { kMaxSize, kFirstSize };  // of the longer side; 0: none
};
struct ScaleJitterArgs {  // target_size as torchvision has it: its first side limits the width
  enum : int { kFirst, kSecond, kScaleMin, kScaleMax };
};
struct RandomResizeArgs {  // of the shorter side: the least size, and one more than the largest
  enum : int { kMinSize, kMaxSize };
};
struct JitterArgs {  // factors (1, 1), but of the hue a shift (0, 0)
  enum : int {
    kBrightnessMin,
    kBrightnessMax,
    kContrastMin,
    kContrastMax,
    kSaturationMin,
    kSaturationMax,
    kHueMin,
    kHueMax,
  };
};
struct BlurArgs {  // the kernel in pixels, odd
  enum : int { kKernelX, kKernelY, kSigmaMin, kSigmaMax };
};
struct SolarizeArgs {
  enum : int { kThreshold };
};
struct PosterizeArgs {
  enum : int { kBits };
};
struct SharpnessArgs {
  enum : int { kFactor };
};
struct RandAugmentArgs {
  enum : int { kNumOps, kMagnitude, kBins };
};
struct TrivialAugmentArgs {
  enum : int { kBins };
};
struct AugMixArgs {  // a depth below 1: 1 to 3 at random
  enum : int { kSeverity, kWidth, kDepth, kAlpha };
};

inline constexpr int kStepArgs = 12;
inline constexpr int kMaxShortestSizes = 11;

// One step. Fixed width without padding, because it travels through shared memory.
struct Step {
  Op op = Op::kNone;
  // Groups: how many of the following steps it contains, with those of the groups within it.
  uint32_t children = 0;
  // Operations that resize, kRotation, kAffine, kPerspective and the policies.
  // A Sampling.
  uint8_t interpolation = static_cast<uint8_t>(Sampling::kNearest);
  // kPad and kRandomCrop: a PadMode; kAutoAugment: a Policy.
  uint8_t mode = 0;
  uint8_t flags = 0;
  uint8_t reserved0 = 0;
  // Of what is outside of the image: kRotation, kAffine, kPerspective, kPad, kRandomCrop and the
  // policies. Gray images use the first value.
  Fill fill;
  uint8_t reserved1 = 0;
  // Of the operations that torchvision applies with a probability `p`, and of kRandomApply.
  double probability = 1;
  // Share of this step if it is directly within a kRandomChoice.
  double weight = 1;
  double args[kStepArgs] = {};

  bool operator==(const Step&) const = default;
};
static_assert(sizeof(Step) == 128 && std::is_trivially_copyable_v<Step>);

inline constexpr uint32_t kMaxSteps = 32;

struct TransformRecipe {
  uint32_t count = 0;
  uint32_t reserved = 0;
  Step steps[kMaxSteps];  // `count` of them are used

  bool empty() const { return count == 0; }
  bool operator==(const TransformRecipe& other) const {
    return count == other.count && std::equal(steps, steps + count, other.steps);
  }
};
static_assert(sizeof(TransformRecipe) == 8 + 128 * kMaxSteps &&
              std::is_trivially_copyable_v<TransformRecipe>);

// Limits of arguments, all inclusive.
inline constexpr int kMaxCropSide = 16384;
inline constexpr int kMaxPadding = 16384;
inline constexpr int kMaxRandAugmentOps = 16;
inline constexpr int kMaxBins = 1024;
inline constexpr int kMaxMixWidth = 8;
inline constexpr int kMaxMixDepth = 8;
inline constexpr uint32_t kMaxNesting = 8;

// Whether the recipe can run on every image that is large enough. Its ranges are torchvision's.
// **Errors**: InvalidArgument, which names the step by its place.
absl::Status Validate(const TransformRecipe& recipe);

// The size that images have after the recipe: `before` is the size before it, if all images have
// the same. None if images can then differ in size.
// **Requires**: Validate(recipe).
std::optional<ImageSize> SizeAfter(const TransformRecipe& recipe, std::optional<ImageSize> before);

// Whether a step may move pixels, so that positions in the image change.
bool MovesPixels(const TransformRecipe& recipe);

// Whether masks, or with `positions` also boxes and points, can follow the image through the
// recipe.
// **Errors**: InvalidArgument, which names the step: policies change parts of the image that they
// choose themselves, as torchvision refuses them; boxes and points have no reflections.
absl::Status ValidateForTargets(const TransformRecipe& recipe, bool positions);

// Joins a feed's fingerprint: a new version means that rows have other bytes than before.
uint32_t VersionOf(Op op);

// torchvision's name of the class, for example "RandomHorizontalFlip"; empty for unknown numbers.
absl::string_view NameOf(Op op);

}  // namespace penstock::augment
