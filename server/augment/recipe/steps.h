// How steps are read: groups in the flattened list, and arguments as the types that operations
// take. Private to this folder.
#pragma once

#include <cstdint>

#include "server/augment/recipe/recipe.h"

namespace penstock::augment {

struct StepRange {
  uint32_t begin, end;
};

// The place of the next step at the same depth. **Requires**: the group is within the recipe.
inline uint32_t EndOf(const TransformRecipe& recipe, uint32_t place) {
  return place + 1 + recipe.steps[place].children;
}

inline bool IsGroup(Op op) {
  return op == Op::kCompose || op == Op::kRandomApply || op == Op::kRandomChoice ||
         op == Op::kRandomOrder;
}

inline int32_t Whole(const Step& step, int arg) { return static_cast<int32_t>(step.args[arg]); }

inline Sampler ToSampler(const Step& step) {
  return {static_cast<Sampling>(step.interpolation), step.fill};
}

inline PadStyle ToPadStyle(const Step& step) {
  return {static_cast<PadMode>(step.mode), step.fill};
}

// Of kPad.
inline Padding ToPadding(const Step& step) {
  return {Whole(step, PadArgs::kLeft), Whole(step, PadArgs::kTop), Whole(step, PadArgs::kRight),
          Whole(step, PadArgs::kBottom)};
}

// Of kRandomCrop and kCenterCrop.
inline ImageSize CropSizeOf(const Step& step) {
  return {static_cast<uint32_t>(step.args[CropArgs::kWidth]),
          static_cast<uint32_t>(step.args[CropArgs::kHeight])};
}

// Of kResize: the size that an image of `size` gets.
ImageSize ResizedSize(const Step& step, ImageSize size);

// Of kRandomShortestSize: how many sizes there are.
inline uint32_t ShortestSizes(const Step& step) {
  uint32_t count = 0;
  while (count < kMaxShortestSizes && step.args[ShortestSizeArgs::kFirstSize + count] != 0) ++count;
  return count;
}

// Of kRandomCrop.
inline Padding CropPaddingOf(const Step& step) {
  return {Whole(step, CropArgs::kPadLeft), Whole(step, CropArgs::kPadTop),
          Whole(step, CropArgs::kPadRight), Whole(step, CropArgs::kPadBottom)};
}

}  // namespace penstock::augment
