#include "server/augment/recipe/recipe.h"

#include "server/augment/recipe/steps.h"

namespace penstock::augment {
namespace {

using MaybeSize = std::optional<ImageSize>;

bool Same(const MaybeSize& a, const MaybeSize& b) {
  if (!a || !b) return false;
  return a->width == b->width && a->height == b->height;
}

MaybeSize AfterSteps(const TransformRecipe& recipe, StepRange range, MaybeSize size);

// A group that may run some of its steps, in any order: known only if none changes the size.
MaybeSize AfterAnyOrder(const TransformRecipe& recipe, StepRange range, const MaybeSize& before) {
  for (uint32_t i = range.begin; i < range.end; i = EndOf(recipe, i)) {
    if (!Same(AfterSteps(recipe, {i, EndOf(recipe, i)}, before), before)) return std::nullopt;
  }
  return before;
}

// One of the steps runs.
MaybeSize AfterChoice(const TransformRecipe& recipe, StepRange range, const MaybeSize& before) {
  const MaybeSize first = AfterSteps(recipe, {range.begin, EndOf(recipe, range.begin)}, before);
  for (uint32_t i = range.begin; i < range.end; i = EndOf(recipe, i)) {
    if (!Same(AfterSteps(recipe, {i, EndOf(recipe, i)}, before), first)) return std::nullopt;
  }
  return first;
}

// Everything runs, or nothing.
MaybeSize AfterApply(const TransformRecipe& recipe, StepRange range, const MaybeSize& before) {
  const MaybeSize after = AfterSteps(recipe, range, before);
  return Same(after, before) ? after : std::nullopt;
}

MaybeSize AfterPad(const Padding& padding, const MaybeSize& before) {
  if (!before) return std::nullopt;
  const int64_t width = int64_t{before->width} + padding.left + padding.right;
  const int64_t height = int64_t{before->height} + padding.top + padding.bottom;
  if (width < 1 || height < 1) return std::nullopt;
  return ImageSize{static_cast<uint32_t>(width), static_cast<uint32_t>(height)};
}

MaybeSize AfterResize(const Step& step, const MaybeSize& before) {
  if (step.args[ResizeArgs::kWidth] == 0 && !before) return std::nullopt;
  return ResizedSize(step, before.value_or(ImageSize{1, 1}));
}

MaybeSize AfterStep(const TransformRecipe& recipe, uint32_t place, const MaybeSize& before) {
  const Step& step = recipe.steps[place];
  const StepRange inner = {place + 1, EndOf(recipe, place)};
  switch (step.op) {
    case Op::kCompose:
      return AfterSteps(recipe, inner, before);
    case Op::kRandomApply:
      return AfterApply(recipe, inner, before);
    case Op::kRandomChoice:
      return AfterChoice(recipe, inner, before);
    case Op::kRandomOrder:
      return AfterAnyOrder(recipe, inner, before);
    case Op::kPad:
      return AfterPad(ToPadding(step), before);
    case Op::kRandomCrop:
    case Op::kCenterCrop:
    case Op::kRandomResizedCrop:
      return CropSizeOf(step);
    case Op::kResize:
      return AfterResize(step, before);
    case Op::kRandomShortestSize:
    case Op::kScaleJitter:
    case Op::kRandomResize:
      return std::nullopt;
    case Op::kRotation:
      return (step.flags & kExpand) != 0 ? std::nullopt : before;
    default:
      return before;
  }
}

MaybeSize AfterSteps(const TransformRecipe& recipe, StepRange range, MaybeSize size) {
  for (uint32_t i = range.begin; i < range.end; i = EndOf(recipe, i)) {
    size = AfterStep(recipe, i, size);
  }
  return size;
}

}  // namespace

// Sides are cut to whole pixels, as in torchvision.
ImageSize ResizedSize(const Step& step, ImageSize size) {
  const auto height = static_cast<uint32_t>(step.args[ResizeArgs::kHeight]);
  const auto width = static_cast<uint32_t>(step.args[ResizeArgs::kWidth]);
  if (width != 0) return {width, height};
  const auto [shorter, longer] = std::minmax(size.width, size.height);
  uint64_t new_short = height, new_long = uint64_t{height} * longer / shorter;
  const auto most = static_cast<uint64_t>(step.args[ResizeArgs::kMaxSize]);
  if (most != 0 && new_long > most) {
    new_short = most * new_short / new_long;
    new_long = most;
  }
  const auto a = static_cast<uint32_t>(new_short);
  const auto b = static_cast<uint32_t>(std::min<uint64_t>(new_long, UINT32_MAX));
  return size.width <= size.height ? ImageSize{a, b} : ImageSize{b, a};
}

std::optional<ImageSize> SizeAfter(const TransformRecipe& recipe, std::optional<ImageSize> before) {
  return AfterSteps(recipe, {0, recipe.count}, before);
}

bool MovesPixels(const TransformRecipe& recipe) {
  return std::any_of(recipe.steps, recipe.steps + recipe.count, [](const Step& step) {
    return (step.op >= Op::kHorizontalFlip && step.op < Op::kColorJitter) ||
           step.op >= Op::kRandAugment;
  });
}

// All operations are in their first version.
uint32_t VersionOf(Op) { return 1; }

absl::string_view NameOf(Op op) {
  switch (op) {
    case Op::kNone:
      break;
    case Op::kCompose:
      return "Compose";
    case Op::kRandomApply:
      return "RandomApply";
    case Op::kRandomChoice:
      return "RandomChoice";
    case Op::kRandomOrder:
      return "RandomOrder";
    case Op::kHorizontalFlip:
      return "RandomHorizontalFlip";
    case Op::kVerticalFlip:
      return "RandomVerticalFlip";
    case Op::kRotation:
      return "RandomRotation";
    case Op::kAffine:
      return "RandomAffine";
    case Op::kPerspective:
      return "RandomPerspective";
    case Op::kPad:
      return "Pad";
    case Op::kRandomCrop:
      return "RandomCrop";
    case Op::kCenterCrop:
      return "CenterCrop";
    case Op::kResize:
      return "Resize";
    case Op::kRandomResizedCrop:
      return "RandomResizedCrop";
    case Op::kRandomShortestSize:
      return "RandomShortestSize";
    case Op::kScaleJitter:
      return "ScaleJitter";
    case Op::kRandomResize:
      return "RandomResize";
    case Op::kColorJitter:
      return "ColorJitter";
    case Op::kGrayscale:
      return "RandomGrayscale";
    case Op::kGaussianBlur:
      return "GaussianBlur";
    case Op::kSolarize:
      return "RandomSolarize";
    case Op::kPosterize:
      return "RandomPosterize";
    case Op::kEqualize:
      return "RandomEqualize";
    case Op::kAutocontrast:
      return "RandomAutocontrast";
    case Op::kInvert:
      return "RandomInvert";
    case Op::kAdjustSharpness:
      return "RandomAdjustSharpness";
    case Op::kRandAugment:
      return "RandAugment";
    case Op::kTrivialAugmentWide:
      return "TrivialAugmentWide";
    case Op::kAutoAugment:
      return "AutoAugment";
    case Op::kAugMix:
      return "AugMix";
  }
  return {};
}

}  // namespace penstock::augment
