// The draws of steps that resize.
#include <algorithm>
#include <cmath>

#include "server/augment/recipe/planner.h"
#include "server/augment/recipe/random_box.h"
#include "server/augment/recipe/steps.h"

namespace penstock::augment {
namespace {

// An image of less than a pixel is too small, and one beyond any limit too large.
void AddResize(const PixelBox& box, double width, double height, const Step& step,
               Planner& planner) {
  if (width < 1 || height < 1) return planner.Fail(RecipeOutcome::kTooSmall);
  if (width > kMostSide || height > kMostSide) return planner.Fail(RecipeOutcome::kTooLarge);
  planner.AddSized(ResizeBy{box, static_cast<Sampling>(step.interpolation)},
                   {static_cast<uint32_t>(width), static_cast<uint32_t>(height)});
}

PixelBox WholeOf(ImageSize size) { return {0, 0, size.width, size.height}; }

// The sides times `ratio`, cut to whole pixels.
void AddScaled(double ratio, const Step& step, Planner& planner) {
  const ImageSize size = planner.size();
  AddResize(WholeOf(size), std::trunc(size.width * ratio), std::trunc(size.height * ratio), step,
            planner);
}

}  // namespace

void PlanResize(const Step& step, Planner& planner) {
  const ImageSize size = planner.size(), wanted = ResizedSize(step, size);
  AddResize(WholeOf(size), wanted.width, wanted.height, step, planner);
}

void PlanRandomResizedCrop(const Step& step, const Words& words, Planner& planner) {
  const double* const args = step.args;
  const BoxRanges ranges = {args[ResizedCropArgs::kScaleMin], args[ResizedCropArgs::kScaleMax],
                            args[ResizedCropArgs::kRatioMin], args[ResizedCropArgs::kRatioMax]};
  const PixelBox box = RandomBox(ranges, planner.size(), words.Page(0), 1);
  AddResize(box, args[ResizedCropArgs::kWidth], args[ResizedCropArgs::kHeight], step, planner);
}

void PlanRandomShortestSize(const Step& step, Words words, Planner& planner) {
  const ImageSize size = planner.size();
  const auto [shorter, longer] = std::minmax(size.width, size.height);
  const uint32_t chosen = words.Below(1, ShortestSizes(step));
  double ratio = step.args[ShortestSizeArgs::kFirstSize + static_cast<int>(chosen)] / shorter;
  if (const double most = step.args[ShortestSizeArgs::kMaxSize]; most > 0) {
    ratio = std::min(ratio, most / longer);
  }
  AddScaled(ratio, step, planner);
}

// The size that the shorter side gets is drawn, then it is a Resize of that.
void PlanRandomResize(const Step& step, Words words, Planner& planner) {
  const ImageSize size = planner.size();
  const auto least = static_cast<uint32_t>(step.args[RandomResizeArgs::kMinSize]);
  const auto most = static_cast<uint32_t>(step.args[RandomResizeArgs::kMaxSize]);
  Step resize = step;
  resize.args[ResizeArgs::kHeight] = least + words.Below(1, most - least);
  resize.args[ResizeArgs::kWidth] = resize.args[ResizeArgs::kMaxSize] = 0;
  const ImageSize wanted = ResizedSize(resize, size);
  AddResize(WholeOf(size), wanted.width, wanted.height, step, planner);
}

// The first side of torchvision's target belongs to the width.
void PlanScaleJitter(const Step& step, Words words, Planner& planner) {
  const double* const args = step.args;
  const ImageSize size = planner.size();
  const double scale =
      words.Between(1, args[ScaleJitterArgs::kScaleMin], args[ScaleJitterArgs::kScaleMax]);
  const double fit = std::min(args[ScaleJitterArgs::kSecond] / size.height,
                              args[ScaleJitterArgs::kFirst] / size.width);
  AddScaled(fit * scale, step, planner);
}

}  // namespace penstock::augment
