#include "server/augment/recipe/policy_ops.h"

#include <cmath>

namespace penstock::augment {
namespace {

// An element of torch.linspace, by its code for single elements.
float Linear(double first, double last, uint32_t count, uint32_t place) {
  const float from = static_cast<float>(first), to = static_cast<float>(last);
  const float step = (to - from) / static_cast<float>(count - 1);
  if (place < count / 2) return from + step * static_cast<float>(place);
  return to - step * static_cast<float>(count - 1 - place);
}

}  // namespace

double Magnitudes::Of(PolicyOp op, uint32_t bin) const {
  const auto up_to = [&](double most) { return Linear(0, most, bins, bin); };
  switch (op) {
    case PolicyOp::kShearX:
    case PolicyOp::kShearY:
      return up_to(shear);
    case PolicyOp::kTranslateX:
      return up_to(translate_x);
    case PolicyOp::kTranslateY:
      return up_to(translate_y);
    case PolicyOp::kRotate:
      return up_to(rotate);
    case PolicyOp::kBrightness:
    case PolicyOp::kColor:
    case PolicyOp::kContrast:
    case PolicyOp::kSharpness:
      return up_to(enhance);
    case PolicyOp::kPosterize: {
      const auto bins_per_bit = static_cast<float>((bins - 1) / static_cast<double>(fewer_bits));
      return most_bits - std::nearbyint(static_cast<float>(bin) / bins_per_bit);
    }
    case PolicyOp::kSolarize:
      return Linear(255, 0, bins, bin);
    case PolicyOp::kIdentity:
    case PolicyOp::kAutoContrast:
    case PolicyOp::kEqualize:
    case PolicyOp::kInvert:
      break;
  }
  return 0;
}

bool IsSigned(PolicyOp op) { return op >= PolicyOp::kShearX && op <= PolicyOp::kSharpness; }

void AddPolicyOp(PolicyOp op, double magnitude, const Sampler& sampler, Planner& planner) {
  const ImageSize size = planner.size();
  switch (op) {
    case PolicyOp::kIdentity:
      return;
    case PolicyOp::kShearX:
      return planner.Add(AffineBy{ShearX(magnitude), sampler});
    case PolicyOp::kShearY:
      return planner.Add(AffineBy{ShearY(magnitude), sampler});
    case PolicyOp::kTranslateX:
      return planner.Add(AffineBy{TranslateX(size, magnitude), sampler});
    case PolicyOp::kTranslateY:
      return planner.Add(AffineBy{TranslateY(size, magnitude), sampler});
    case PolicyOp::kRotate:
      return planner.AddRotation({.degrees = magnitude}, sampler);
    case PolicyOp::kBrightness:
      return planner.Add(ChangeBy{PixelChange::kBrightness, 1 + magnitude});
    case PolicyOp::kColor:
      return planner.Add(ChangeBy{PixelChange::kSaturation, 1 + magnitude});
    case PolicyOp::kContrast:
      return planner.Add(ChangeBy{PixelChange::kContrast, 1 + magnitude});
    case PolicyOp::kSharpness:
      return planner.Add(ChangeBy{PixelChange::kSharpness, 1 + magnitude});
    case PolicyOp::kPosterize:
      return planner.Add(ChangeBy{PixelChange::kPosterize, magnitude});
    case PolicyOp::kSolarize:
      return planner.Add(ChangeBy{PixelChange::kSolarize, magnitude});
    case PolicyOp::kAutoContrast:
      return planner.Add(ChangeBy{PixelChange::kAutocontrast});
    case PolicyOp::kEqualize:
      return planner.Add(ChangeBy{PixelChange::kEqualize});
    case PolicyOp::kInvert:
      return planner.Add(ChangeBy{PixelChange::kInvert});
  }
}

}  // namespace penstock::augment
