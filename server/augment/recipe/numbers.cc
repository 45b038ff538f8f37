#include "server/augment/recipe/numbers.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace penstock::augment {
namespace {

// What the numbers of a step stand for, one after the other.
enum class Part : uint8_t {
  kNone,
  kExpand,       // flags
  kPadIfNeeded,  //
  kAllOps,       //
  kCenter,       // three numbers: a flag, and two arguments
  kPolicy,       // the step's mode
  kFill,         // three numbers
};

struct Layout {
  Op op;
  int args;        // that come first
  Part behind[4];  // what follows them
};

constexpr Layout kLayouts[] = {
    {Op::kHorizontalFlip, 0, {}},
    {Op::kVerticalFlip, 0, {}},
    {Op::kPad, 4, {Part::kFill}},
    {Op::kRandomCrop, 6, {Part::kPadIfNeeded, Part::kFill}},
    {Op::kCenterCrop, 2, {}},
    {Op::kResize, 3, {}},
    {Op::kRandomResizedCrop, 6, {}},
    {Op::kRandomShortestSize, 2, {}},  // and more sizes
    {Op::kScaleJitter, 4, {}},
    {Op::kRandomResize, 2, {}},
    {Op::kRotation, 2, {Part::kExpand, Part::kCenter, Part::kFill}},
    {Op::kAffine, 10, {Part::kCenter, Part::kFill}},
    {Op::kPerspective, 1, {Part::kFill}},
    {Op::kColorJitter, 8, {}},
    {Op::kGrayscale, 0, {}},
    {Op::kGaussianBlur, 4, {}},
    {Op::kSolarize, 1, {}},
    {Op::kPosterize, 1, {}},
    {Op::kEqualize, 0, {}},
    {Op::kAutocontrast, 0, {}},
    {Op::kInvert, 0, {}},
    {Op::kAdjustSharpness, 1, {}},
    {Op::kRandAugment, 3, {Part::kFill}},
    {Op::kTrivialAugmentWide, 1, {Part::kFill}},
    {Op::kAutoAugment, 0, {Part::kPolicy, Part::kFill}},
    {Op::kAugMix, 4, {Part::kAllOps, Part::kFill}},
    {Op::kCompose, 0, {}},
    {Op::kRandomApply, 0, {}},
    {Op::kRandomChoice, 0, {}},  // its numbers are weights
    {Op::kRandomOrder, 0, {}},
};

const Layout* LayoutOf(Op op) {
  const auto* found = std::find_if(std::begin(kLayouts), std::end(kLayouts),
                                   [op](const Layout& layout) { return layout.op == op; });
  return found == std::end(kLayouts) ? nullptr : found;
}

int NumbersOf(Part part) {
  if (part == Part::kNone) return 0;
  return part == Part::kCenter || part == Part::kFill ? 3 : 1;
}

int NumbersOf(const Layout& layout) {
  int count = layout.args;
  for (const Part part : layout.behind) count += NumbersOf(part);
  return count;
}

bool IsByte(double number) { return number >= 0 && number <= 255 && number == std::floor(number); }

// Takes a part's numbers. `next` is the step's next argument. Returns whether they can be.
bool TakePart(Part part, const double* numbers, double* next, Step& step) {
  const auto flag = [&](uint8_t bit) {
    if (numbers[0] != 0) step.flags |= bit;
    return true;
  };
  switch (part) {
    case Part::kNone:
      return true;
    case Part::kExpand:
      return flag(kExpand);
    case Part::kPadIfNeeded:
      return flag(kPadIfNeeded);
    case Part::kAllOps:
      return flag(kAllOps);
    case Part::kCenter:
      std::copy_n(numbers + 1, 2, next);
      return flag(kHasCenter);
    case Part::kPolicy:
      step.mode = static_cast<uint8_t>(IsByte(numbers[0]) ? numbers[0] : 255);
      return true;
    case Part::kFill:
      if (!std::all_of(numbers, numbers + 3, IsByte)) return false;
      std::transform(numbers, numbers + 3, step.fill.values,
                     [](double number) { return static_cast<uint8_t>(number); });
      return true;
  }
  return false;
}

}  // namespace

absl::Status TakeNumbers(std::span<const double> numbers, Step& step) {
  const Layout* layout = LayoutOf(step.op);
  if (layout == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("unknown step ", static_cast<uint32_t>(step.op),
                                                   "; upgrade the daemon if the client knows it"));
  }
  const size_t wanted = NumbersOf(*layout);
  if (step.op == Op::kRandomShortestSize && numbers.size() > wanted &&
      numbers.size() <= kStepArgs) {
    std::copy(numbers.begin(), numbers.end(), step.args);
    return absl::OkStatus();
  }
  if (numbers.size() != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(step.op), ": wanted ", wanted, " numbers, got ", numbers.size()));
  }
  const double* at = numbers.data();
  double* next = std::copy_n(at, layout->args, step.args);
  at += layout->args;
  for (const Part part : layout->behind) {
    if (!TakePart(part, at, next, step)) {
      return absl::InvalidArgumentError(
          absl::StrCat(NameOf(step.op), ": the fill: wanted integers from 0 to 255, got ", at[0],
                       ", ", at[1], ", ", at[2]));
    }
    at += NumbersOf(part);
  }
  return absl::OkStatus();
}

}  // namespace penstock::augment
