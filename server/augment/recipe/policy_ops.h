// The operations of the policies and the magnitudes of which they draw, as torchvision has them.
// Private to this folder.
#pragma once

#include <cstdint>

#include "server/augment/recipe/planner.h"
#include "server/augment/recipe/recipe.h"

namespace penstock::augment {

// In the order of RandAugment and TrivialAugmentWide, which have all but the last.
enum class PolicyOp : uint8_t {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize,
  kInvert,
};
inline constexpr uint32_t kRandomOps = 14;

// The largest magnitudes of a policy, for `bins` magnitudes from 0 on.
struct Magnitudes {
  uint32_t bins;
  double shear;
  double translate_x, translate_y;  // pixels
  double rotate;                    // degrees
  double enhance;                   // added to the factor 1 or subtracted
  int most_bits;                    // of kPosterize, which takes away up to `fewer_bits`
  int fewer_bits;

  // Of a bin; 0 for operations that have none. Without its sign.
  double Of(PolicyOp op, uint32_t bin) const;
};

// Whether a sign is drawn for the magnitude.
bool IsSigned(PolicyOp op);

void AddPolicyOp(PolicyOp op, double magnitude, const Sampler& sampler, Planner& planner);

}  // namespace penstock::augment
