#include "server/augment/recipe/plan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "server/augment/recipe/planner.h"
#include "server/augment/recipe/steps.h"

namespace penstock::augment {
namespace {

// Rounds half to even, like Python's round.
double Rounded(double value) { return std::nearbyint(value); }

std::optional<Point> CenterOf(const Step& step, int arg) {
  if ((step.flags & kHasCenter) == 0) return std::nullopt;
  return Point{step.args[arg], step.args[arg + 1]};
}

void PlanRotate(const Step& step, Words& words, Planner& planner) {
  Rotation rotation;
  rotation.degrees =
      words.Between(1, step.args[RotationArgs::kDegreesMin], step.args[RotationArgs::kDegreesMax]);
  if ((step.flags & kExpand) != 0) rotation.canvas = Canvas::kToFit;
  rotation.center = CenterOf(step, RotationArgs::kCenterX);
  planner.AddRotation(rotation, ToSampler(step));
}

void PlanAffine(const Step& step, Words& words, Planner& planner) {
  const double* const args = step.args;
  const auto between = [&](uint32_t number, int arg) {
    return words.Between(number, args[arg], args[arg + 1]);
  };
  const auto shift = [&](uint32_t number, int arg, uint32_t side) {
    const double most = args[arg] * side;
    return Rounded(words.Between(number, -most, most));
  };
  const ImageSize size = planner.size();
  AffineArguments affine;
  affine.center = CenterOf(step, AffineArgs::kCenterX).value_or(size.center());
  affine.angle = between(1, AffineArgs::kDegreesMin);
  affine.translate = {shift(2, AffineArgs::kTranslateX, size.width),
                      shift(3, AffineArgs::kTranslateY, size.height)};
  affine.scale = between(4, AffineArgs::kScaleMin);
  affine.shear = {between(5, AffineArgs::kShearXMin), between(6, AffineArgs::kShearYMin)};
  planner.Add(AffineBy{affine, ToSampler(step)});
}

// Where the corners have no solution, the image stays.
void PlanPerspective(const Step& step, Words& words, Planner& planner) {
  const auto [width, height] = planner.size();
  if (width > kMaxCorner || height > kMaxCorner) return planner.Fail(RecipeOutcome::kTooLarge);
  const double distortion = step.args[PerspectiveArgs::kDistortion];
  const uint32_t half_width = width / 2, half_height = height / 2;
  const auto x = static_cast<int32_t>(distortion * half_width);
  const auto y = static_cast<int32_t>(distortion * half_height);
  const auto near = [&](uint32_t number, int32_t most) {
    return static_cast<int32_t>(words.Below(number, static_cast<uint32_t>(most) + 1));
  };
  const int32_t right = static_cast<int32_t>(width) - 1, bottom = static_cast<int32_t>(height) - 1;
  PerspectiveBy change;
  change.start = {{{0, 0}, {right, 0}, {right, bottom}, {0, bottom}}};
  change.end = {{{near(1, x), near(2, y)},
                 {right - x + near(3, x), near(4, y)},
                 {right - x + near(5, x), bottom - y + near(6, y)},
                 {near(7, x), bottom - y + near(8, y)}}};
  change.sampler = ToSampler(step);
  const auto solved = SolvePerspective(change.start, change.end);
  if (!solved) return;
  change.coefficients = *solved;
  planner.Add(change);
}

void PlanRandomCrop(const Step& step, Words& words, Planner& planner) {
  const ImageSize crop = CropSizeOf(step);
  const PadStyle style = ToPadStyle(step);
  planner.AddPadding(CropPaddingOf(step), style);
  if ((step.flags & kPadIfNeeded) != 0) {
    const auto lacks = [](uint32_t wanted, uint32_t side) {
      return static_cast<int32_t>(wanted > side ? wanted - side : 0);
    };
    const int32_t x = lacks(crop.width, planner.size().width);
    planner.AddPadding({x, 0, x, 0}, style);
    const int32_t y = lacks(crop.height, planner.size().height);
    planner.AddPadding({0, y, 0, y}, style);
  }
  if (planner.failed()) return;
  const ImageSize size = planner.size();
  if (crop.width > size.width || crop.height > size.height) {
    return planner.Fail(RecipeOutcome::kTooSmall);
  }
  const int64_t top = words.Below(1, size.height - crop.height + 1);
  const int64_t left = words.Below(2, size.width - crop.width + 1);
  planner.AddCrop({left, top}, crop);
}

// Black padding on both sides where the image is smaller; of an odd number of pixels, the larger
// half comes behind the image.
void PlanCenterCrop(const Step& step, Planner& planner) {
  const ImageSize crop = CropSizeOf(step), size = planner.size();
  const int32_t x = std::max<int32_t>(static_cast<int32_t>(crop.width - size.width), 0);
  const int32_t y = std::max<int32_t>(static_cast<int32_t>(crop.height - size.height), 0);
  planner.AddPadding({x / 2, y / 2, (x + 1) / 2, (y + 1) / 2}, {});
  if (planner.failed()) return;
  const auto middle = [](uint32_t side, uint32_t part) {
    return static_cast<int64_t>(Rounded((side - part) / 2.0));
  };
  const ImageSize padded = planner.size();
  planner.AddCrop({middle(padded.width, crop.width), middle(padded.height, crop.height)}, crop);
}

// Ranges that change nothing are left out, as in torchvision.
void PlanColorJitter(const Step& step, Words& words, Planner& planner) {
  constexpr PixelChange kChanges[] = {PixelChange::kBrightness, PixelChange::kContrast,
                                      PixelChange::kSaturation, PixelChange::kHue};
  std::array<uint32_t, 4> order = {0, 1, 2, 3};
  words.Shuffle(1, order.data(), 4);
  for (const uint32_t i : order) {
    const double least = step.args[2 * i], most = step.args[2 * i + 1];
    const double same = kChanges[i] == PixelChange::kHue ? 0 : 1;
    if (least == same && most == same) continue;
    planner.Add(ChangeBy{kChanges[i], words.Between(4 + i, least, most)});
  }
}

void PlanBlur(const Step& step, Words& words, Planner& planner) {
  const double sigma =
      words.Between(1, step.args[BlurArgs::kSigmaMin], step.args[BlurArgs::kSigmaMax]);
  const Blur blur = {Whole(step, BlurArgs::kKernelX), Whole(step, BlurArgs::kKernelY), sigma,
                     sigma};
  const ImageSize size = planner.size();
  if (!Fits(blur, {nullptr, size.width, size.height, 1}))
    return planner.Fail(RecipeOutcome::kTooSmall);
  planner.Add(blur);
}

class RecipePlanner {
 public:
  RecipePlanner(const TransformRecipe& recipe, Planner& planner)
      : recipe_(recipe), planner_(planner) {}

  void PlanSteps(StepRange range) {
    for (uint32_t i = range.begin; i < range.end; i = EndOf(recipe_, i)) PlanStep(i);
  }

 private:
  void PlanStep(uint32_t place) {
    if (planner_.failed()) return;
    const Step& step = recipe_.steps[place];
    Words words = planner_.MakeWords(place);
    if (!(words.Unit(0) < step.probability)) return;
    switch (step.op) {
      case Op::kNone:
        return;
      case Op::kCompose:
      case Op::kRandomApply:
        return PlanSteps({place + 1, EndOf(recipe_, place)});
      case Op::kRandomChoice:
        return PlanChoice(place, words);
      case Op::kRandomOrder:
        return PlanOrder(place, words);
      case Op::kHorizontalFlip:
        return planner_.Add(ChangeBy{PixelChange::kFlipHorizontal});
      case Op::kVerticalFlip:
        return planner_.Add(ChangeBy{PixelChange::kFlipVertical});
      case Op::kRotation:
        return PlanRotate(step, words, planner_);
      case Op::kAffine:
        return PlanAffine(step, words, planner_);
      case Op::kPerspective:
        return PlanPerspective(step, words, planner_);
      case Op::kPad:
        return planner_.AddPadding(ToPadding(step), ToPadStyle(step));
      case Op::kRandomCrop:
        return PlanRandomCrop(step, words, planner_);
      case Op::kCenterCrop:
        return PlanCenterCrop(step, planner_);
      case Op::kResize:
        return PlanResize(step, planner_);
      case Op::kRandomResizedCrop:
        return PlanRandomResizedCrop(step, words, planner_);
      case Op::kRandomShortestSize:
        return PlanRandomShortestSize(step, words, planner_);
      case Op::kScaleJitter:
        return PlanScaleJitter(step, words, planner_);
      case Op::kRandomResize:
        return PlanRandomResize(step, words, planner_);
      case Op::kColorJitter:
        return PlanColorJitter(step, words, planner_);
      case Op::kGrayscale:
        return planner_.Add(ChangeBy{PixelChange::kGrayscale});
      case Op::kGaussianBlur:
        return PlanBlur(step, words, planner_);
      case Op::kSolarize:
        return planner_.Add(ChangeBy{PixelChange::kSolarize, step.args[SolarizeArgs::kThreshold]});
      case Op::kPosterize:
        return planner_.Add(ChangeBy{PixelChange::kPosterize, step.args[PosterizeArgs::kBits]});
      case Op::kEqualize:
        return planner_.Add(ChangeBy{PixelChange::kEqualize});
      case Op::kAutocontrast:
        return planner_.Add(ChangeBy{PixelChange::kAutocontrast});
      case Op::kInvert:
        return planner_.Add(ChangeBy{PixelChange::kInvert});
      case Op::kAdjustSharpness:
        return planner_.Add(ChangeBy{PixelChange::kSharpness, step.args[SharpnessArgs::kFactor]});
      case Op::kRandAugment:
        return PlanRandAugment(step, words, planner_);
      case Op::kTrivialAugmentWide:
        return PlanTrivialAugmentWide(step, words, planner_);
      case Op::kAutoAugment:
        return PlanAutoAugment(step, words, planner_);
      case Op::kAugMix:
        return PlanAugMix(step, words, planner_);
    }
  }

  // The first step whose weight, added to those before it, exceeds the drawn part of all weights.
  void PlanChoice(uint32_t place, Words& words) {
    double sum = 0;
    const uint32_t end = EndOf(recipe_, place);
    for (uint32_t i = place + 1; i < end; i = EndOf(recipe_, i)) sum += recipe_.steps[i].weight;
    const double wanted = words.Unit(1) * sum;
    uint32_t chosen = place + 1;
    double before = 0;
    for (uint32_t i = place + 1; i < end; i = EndOf(recipe_, i)) {
      if (recipe_.steps[i].weight == 0) continue;
      chosen = i;
      before += recipe_.steps[i].weight;
      if (wanted < before) break;
    }
    PlanStep(chosen);
  }

  void PlanOrder(uint32_t place, Words& words) {
    std::array<uint32_t, kMaxSteps> order;
    uint32_t count = 0;
    const uint32_t end = EndOf(recipe_, place);
    for (uint32_t i = place + 1; i < end; i = EndOf(recipe_, i)) order[count++] = i;
    words.Shuffle(1, order.data(), count);
    for (uint32_t i = 0; i < count; ++i) PlanStep(order[i]);
  }

  const TransformRecipe& recipe_;
  Planner& planner_;
};

}  // namespace

RecipeOutcome MakePlan(const TransformRecipe& recipe, const base::DrawSource& source,
                       ImageSize size, const RecipeLimits& limits,
                       std::vector<RecipeAction>* actions) {
  actions->clear();
  Planner planner(source, size, limits, actions);
  RecipePlanner(recipe, planner).PlanSteps({0, recipe.count});
  return planner.outcome();
}

}  // namespace penstock::augment
