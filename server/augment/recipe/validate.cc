#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/augment/color/gaussian.h"
#include "server/augment/recipe/recipe.h"
#include "server/augment/recipe/steps.h"

namespace penstock::augment {
namespace {

struct Bounds {
  double least, most;
};
constexpr Bounds kUnit = {0, 1};
constexpr Bounds kDegrees = {-36000, 36000};
constexpr Bounds kCenter = {-1e6, 1e6};
constexpr Bounds kScale = {1e-4, 1e4};
constexpr Bounds kFactor = {0, 1e6};
constexpr Bounds kHue = {-0.5, 0.5};
constexpr Bounds kPadding = {-kMaxPadding, kMaxPadding};
constexpr Bounds kSide = {1, kMaxCropSide};
constexpr Bounds kSideOrNone = {0, kMaxCropSide};
constexpr Bounds kRatio = {1e-4, 1e4};
constexpr Bounds kBins = {2, kMaxBins};

// Checks one step; its first problem is the result.
class Check {
 public:
  Check(const TransformRecipe& recipe, uint32_t place)
      : step_(recipe.steps[place]), subject_(absl::StrCat("transforms[", place, "]")) {
    if (const absl::string_view name = NameOf(step_.op); !name.empty()) {
      absl::StrAppend(&subject_, ": ", name);
    }
  }

  absl::Status status() const { return status_; }

  void Refuse(absl::string_view what, absl::string_view got, absl::string_view expected) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(
        absl::StrCat(subject_, ": ", what, ": got ", got, ", expected ", expected));
  }

  void Number(absl::string_view name, double value, Bounds limits) {
    if (value >= limits.least && value <= limits.most) return;
    Refuse(name, absl::StrCat(value), Text(limits));
  }

  void Argument(absl::string_view name, int arg, Bounds limits) {
    Number(name, step_.args[arg], limits);
  }

  void WholeArgument(absl::string_view name, int arg, Bounds limits) {
    const double value = step_.args[arg];
    Number(name, value, limits);
    if (value != std::trunc(value)) Refuse(name, absl::StrCat(value), "a whole number");
  }

  // Arguments `arg` and `arg + 1`.
  void Range(absl::string_view name, int arg, Bounds limits) {
    Argument(name, arg, limits);
    Argument(name, arg + 1, limits);
    if (step_.args[arg] <= step_.args[arg + 1]) return;
    Refuse(name, absl::StrCat(step_.args[arg], " to ", step_.args[arg + 1]),
           "the smaller number first; swap them");
  }

  void Flags(uint8_t allowed) {
    if ((step_.flags & ~allowed) == 0) return;
    Refuse("flags", absl::StrCat(step_.flags), absl::StrCat("bits of ", allowed, " at most"));
  }

  void Mode(absl::string_view name, uint8_t most) {
    Number(name, step_.mode, {0, static_cast<double>(most)});
  }

  void Probability() { Number("probability", step_.probability, kUnit); }

  void Interpolation() {
    switch (static_cast<Sampling>(step_.interpolation)) {
      case Sampling::kNearest:
      case Sampling::kBilinear:
      case Sampling::kBicubic:
        return;
      default:
        Refuse("interpolation", absl::StrCat(step_.interpolation),
               "nearest, bilinear or bicubic, as Pillow's transform() has no others");
    }
  }

 private:
  static std::string Text(Bounds limits) { return absl::StrCat(limits.least, " to ", limits.most); }

  const Step& step_;
  std::string subject_;
  absl::Status status_;
};

void CheckCenter(const Step& step, Check& check, int arg) {
  if ((step.flags & kHasCenter) == 0) return;
  check.Argument("center", arg, kCenter);
  check.Argument("center", arg + 1, kCenter);
}

void CheckAffine(const Step& step, Check& check) {
  check.Flags(kHasCenter);
  check.Interpolation();
  check.Range("degrees", AffineArgs::kDegreesMin, kDegrees);
  check.Argument("translate", AffineArgs::kTranslateX, kUnit);
  check.Argument("translate", AffineArgs::kTranslateY, kUnit);
  check.Range("scale", AffineArgs::kScaleMin, kScale);
  check.Range("shear", AffineArgs::kShearXMin, kDegrees);
  check.Range("shear", AffineArgs::kShearYMin, kDegrees);
  CheckCenter(step, check, AffineArgs::kCenterX);
}

void CheckJitter(Check& check) {
  check.Range("brightness", JitterArgs::kBrightnessMin, kFactor);
  check.Range("contrast", JitterArgs::kContrastMin, kFactor);
  check.Range("saturation", JitterArgs::kSaturationMin, kFactor);
  check.Range("hue", JitterArgs::kHueMin, kHue);
}

void CheckKernel(const Step& step, Check& check, int arg) {
  check.WholeArgument("kernel_size", arg, {1, kMaxBlurSize});
  if (std::fmod(step.args[arg], 2) != 1) {
    check.Refuse("kernel_size", absl::StrCat(step.args[arg]), "an odd number");
  }
}

void CheckBlur(const Step& step, Check& check) {
  CheckKernel(step, check, BlurArgs::kKernelX);
  CheckKernel(step, check, BlurArgs::kKernelY);
  check.Range("sigma", BlurArgs::kSigmaMin, {1e-6, 1e6});
}

void CheckPadding(Check& check, int first) {
  check.Mode("padding_mode", static_cast<uint8_t>(PadMode::kSymmetric));
  for (int side = 0; side < 4; ++side) check.WholeArgument("padding", first + side, kPadding);
}

// Of the operations that resize, which have all of Pillow's filters.
void CheckFilter(const Step& step, Check& check) {
  check.Number("interpolation", step.interpolation, {0, base::kInterpolations - 1});
}

void CheckResize(const Step& step, Check& check) {
  CheckFilter(step, check);
  check.WholeArgument("size", ResizeArgs::kHeight, kSide);
  check.WholeArgument("size", ResizeArgs::kWidth, kSideOrNone);
  const double most = step.args[ResizeArgs::kMaxSize];
  if (most == 0) return;
  check.WholeArgument("max_size", ResizeArgs::kMaxSize,
                      {step.args[ResizeArgs::kHeight] + 1, kMaxCropSide});
  if (step.args[ResizeArgs::kWidth] != 0) {
    check.Refuse("max_size", absl::StrCat(most), "none where both sides are given");
  }
}

void CheckSize(Check& check) {
  check.WholeArgument("height", CropArgs::kHeight, kSide);
  check.WholeArgument("width", CropArgs::kWidth, kSide);
}

void CheckResizedCrop(const Step& step, Check& check) {
  CheckFilter(step, check);
  CheckSize(check);
  check.Range("scale", ResizedCropArgs::kScaleMin, {1e-9, 1e4});
  check.Range("ratio", ResizedCropArgs::kRatioMin, kRatio);
}

void CheckShortestSize(const Step& step, Check& check) {
  CheckFilter(step, check);
  check.WholeArgument("max_size", ShortestSizeArgs::kMaxSize, kSideOrNone);
  const uint32_t count = ShortestSizes(step);
  if (count == 0) check.Refuse("min_size", "none", absl::StrCat("1 to ", kMaxShortestSizes));
  for (uint32_t i = 0; i < count; ++i) {
    check.WholeArgument("min_size", ShortestSizeArgs::kFirstSize + static_cast<int>(i), kSide);
  }
}

void CheckScaleJitter(const Step& step, Check& check) {
  CheckFilter(step, check);
  check.WholeArgument("target_size", ScaleJitterArgs::kFirst, kSide);
  check.WholeArgument("target_size", ScaleJitterArgs::kSecond, kSide);
  check.Range("scale_range", ScaleJitterArgs::kScaleMin, kScale);
}

void CheckRandomResize(const Step& step, Check& check) {
  CheckFilter(step, check);
  check.WholeArgument("min_size", RandomResizeArgs::kMinSize, kSide);
  check.WholeArgument("max_size", RandomResizeArgs::kMaxSize,
                      {step.args[RandomResizeArgs::kMinSize] + 1, kMaxCropSide + 1});
}

void CheckRandAugment(const Step& step, Check& check) {
  check.Interpolation();
  check.WholeArgument("num_ops", RandAugmentArgs::kNumOps, {1, kMaxRandAugmentOps});
  check.WholeArgument("num_magnitude_bins", RandAugmentArgs::kBins, kBins);
  check.WholeArgument("magnitude", RandAugmentArgs::kMagnitude,
                      {0, step.args[RandAugmentArgs::kBins] - 1});
}

void CheckAugMix(Check& check) {
  check.Flags(kAllOps);
  check.Interpolation();
  check.WholeArgument("severity", AugMixArgs::kSeverity, {1, 10});
  check.WholeArgument("mixture_width", AugMixArgs::kWidth, {1, kMaxMixWidth});
  check.WholeArgument("chain_depth", AugMixArgs::kDepth, {-1, kMaxMixDepth});
  check.Argument("alpha", AugMixArgs::kAlpha, {1e-3, 1e3});
}

void CheckChoice(const TransformRecipe& recipe, uint32_t place, Check& check) {
  double sum = 0;
  for (uint32_t i = place + 1; i < EndOf(recipe, place); i = EndOf(recipe, i)) {
    check.Number("p", recipe.steps[i].weight, {0, 1e9});
    sum += recipe.steps[i].weight;
  }
  if (!(sum > 0)) check.Refuse("p", absl::StrCat("a sum of ", sum), "a positive sum");
}

void CheckArguments(const TransformRecipe& recipe, uint32_t place, Check& check) {
  const Step& step = recipe.steps[place];
  switch (step.op) {
    case Op::kNone:
    case Op::kCompose:
    case Op::kRandomOrder:
    case Op::kEqualize:
    case Op::kAutocontrast:
    case Op::kInvert:
    case Op::kHorizontalFlip:
    case Op::kVerticalFlip:
    case Op::kRandomApply:
    case Op::kGrayscale:
      return;
    case Op::kRandomChoice:
      return CheckChoice(recipe, place, check);
    case Op::kRotation:
      check.Flags(kHasCenter | kExpand);
      check.Interpolation();
      check.Range("degrees", RotationArgs::kDegreesMin, kDegrees);
      return CheckCenter(step, check, RotationArgs::kCenterX);
    case Op::kAffine:
      return CheckAffine(step, check);
    case Op::kPerspective:
      check.Interpolation();
      return check.Argument("distortion_scale", PerspectiveArgs::kDistortion, kUnit);
    case Op::kPad:
      return CheckPadding(check, PadArgs::kLeft);
    case Op::kRandomCrop:
      check.Flags(kPadIfNeeded);
      CheckSize(check);
      return CheckPadding(check, CropArgs::kPadLeft);
    case Op::kCenterCrop:
      return CheckSize(check);
    case Op::kResize:
      return CheckResize(step, check);
    case Op::kRandomResizedCrop:
      return CheckResizedCrop(step, check);
    case Op::kRandomShortestSize:
      return CheckShortestSize(step, check);
    case Op::kScaleJitter:
      return CheckScaleJitter(step, check);
    case Op::kRandomResize:
      return CheckRandomResize(step, check);
    case Op::kColorJitter:
      return CheckJitter(check);
    case Op::kGaussianBlur:
      return CheckBlur(step, check);
    case Op::kSolarize:
      return check.Argument("threshold", SolarizeArgs::kThreshold, {-1e6, 1e6});
    case Op::kPosterize:
      return check.WholeArgument("bits", PosterizeArgs::kBits, {0, 8});
    case Op::kAdjustSharpness:
      return check.Argument("sharpness_factor", SharpnessArgs::kFactor, kFactor);
    case Op::kRandAugment:
      return CheckRandAugment(step, check);
    case Op::kTrivialAugmentWide:
      check.Interpolation();
      return check.WholeArgument("num_magnitude_bins", TrivialAugmentArgs::kBins, kBins);
    case Op::kAutoAugment:
      check.Interpolation();
      return check.Mode("policy", static_cast<uint8_t>(Policy::kSvhn));
    case Op::kAugMix:
      return CheckAugMix(check);
  }
}

// `end` is where the group around the step ends.
void CheckGroup(const Step& step, uint32_t place, uint32_t end, Check& check) {
  if (step.children > 0 && !IsGroup(step.op)) {
    check.Refuse("children", absl::StrCat(step.children), "0, as it is not a group");
  }
  if (step.children > end - place - 1) {
    check.Refuse("children", absl::StrCat(step.children),
                 absl::StrCat("at most the ", end - place - 1, " steps that follow it"));
  }
}

absl::Status ValidateSteps(const TransformRecipe& recipe, StepRange range, uint32_t depth) {
  if (depth > kMaxNesting) {
    return absl::InvalidArgumentError(absl::StrCat(
        "transforms: groups are nested too deeply: got more than ", kMaxNesting, " levels"));
  }
  for (uint32_t i = range.begin; i < range.end; i = EndOf(recipe, i)) {
    const Step& step = recipe.steps[i];
    Check check(recipe, i);
    if (NameOf(step.op).empty()) {
      check.Refuse("unknown operation", absl::StrCat(static_cast<uint32_t>(step.op)),
                   "one of the list");
    }
    CheckGroup(step, i, range.end, check);
    PENSTOCK_RETURN_IF_ERROR(check.status());
    PENSTOCK_RETURN_IF_ERROR(ValidateSteps(recipe, {i + 1, EndOf(recipe, i)}, depth + 1));
    check.Probability();
    CheckArguments(recipe, i, check);
    PENSTOCK_RETURN_IF_ERROR(check.status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateForTargets(const TransformRecipe& recipe, bool positions) {
  for (uint32_t i = 0; i < recipe.count; ++i) {
    const Step& step = recipe.steps[i];
    if (step.op >= Op::kRandAugment)
      return absl::InvalidArgumentError(absl::StrCat(
          "transforms: step ", i, ", ", NameOf(step.op),
          ", is for images alone: masks, boxes and points cannot follow it; leave it out, or "
          "request the fields as they are stored (as_stored)"));
    const bool pads = step.op == Op::kPad || step.op == Op::kRandomCrop;
    if (positions && pads && step.mode != static_cast<uint8_t>(PadMode::kConstant))
      return absl::InvalidArgumentError(
          absl::StrCat("transforms: step ", i, ", ", NameOf(step.op),
                       ": boxes and points have no reflections; pad with a constant"));
  }
  return absl::OkStatus();
}

absl::Status Validate(const TransformRecipe& recipe) {
  if (recipe.count > kMaxSteps) {
    return absl::InvalidArgumentError(
        absl::StrCat("transforms: too many steps: got ", recipe.count, ", expected at most ",
                     kMaxSteps, " with those of groups; use Python steps for the rest"));
  }
  return ValidateSteps(recipe, {0, recipe.count}, 0);
}

}  // namespace penstock::augment
