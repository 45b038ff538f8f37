// The policies that AutoAugment found for three datasets (Cubuk, Zoph, Mané, Vasudevan, Le:
// "AutoAugment: Learning augmentation strategies from data", CVPR 2019, appendix), as torchvision
// has them. Private to this folder.
#pragma once

#include "server/augment/recipe/policy_ops.h"

namespace penstock::augment {

// One of 25 pairs is drawn; each of its operations runs with its probability.
struct PolicyPart {
  PolicyOp op;
  uint8_t tenths;     // probability
  uint8_t magnitude;  // bin of 10; unused where the operation has none
};
inline constexpr uint32_t kPairs = 25;

// Indexed by Policy.
inline constexpr PolicyPart kAutoAugment[3][kPairs][2] = {
    {
        {{PolicyOp::kPosterize, 4, 8}, {PolicyOp::kRotate, 6, 9}},
        {{PolicyOp::kSolarize, 6, 5}, {PolicyOp::kAutoContrast, 6, 0}},
        {{PolicyOp::kEqualize, 8, 0}, {PolicyOp::kEqualize, 6, 0}},
        {{PolicyOp::kPosterize, 6, 7}, {PolicyOp::kPosterize, 6, 6}},
        {{PolicyOp::kEqualize, 4, 0}, {PolicyOp::kSolarize, 2, 4}},
        {{PolicyOp::kEqualize, 4, 0}, {PolicyOp::kRotate, 8, 8}},
        {{PolicyOp::kSolarize, 6, 3}, {PolicyOp::kEqualize, 6, 0}},
        {{PolicyOp::kPosterize, 8, 5}, {PolicyOp::kEqualize, 10, 0}},
        {{PolicyOp::kRotate, 2, 3}, {PolicyOp::kSolarize, 6, 8}},
        {{PolicyOp::kEqualize, 6, 0}, {PolicyOp::kPosterize, 4, 6}},
        {{PolicyOp::kRotate, 8, 8}, {PolicyOp::kColor, 4, 0}},
        {{PolicyOp::kRotate, 4, 9}, {PolicyOp::kEqualize, 6, 0}},
        {{PolicyOp::kEqualize, 0, 0}, {PolicyOp::kEqualize, 8, 0}},
        {{PolicyOp::kInvert, 6, 0}, {PolicyOp::kEqualize, 10, 0}},
        {{PolicyOp::kColor, 6, 4}, {PolicyOp::kContrast, 10, 8}},
        {{PolicyOp::kRotate, 8, 8}, {PolicyOp::kColor, 10, 2}},
        {{PolicyOp::kColor, 8, 8}, {PolicyOp::kSolarize, 8, 7}},
        {{PolicyOp::kSharpness, 4, 7}, {PolicyOp::kInvert, 6, 0}},
        {{PolicyOp::kShearX, 6, 5}, {PolicyOp::kEqualize, 10, 0}},
        {{PolicyOp::kColor, 4, 0}, {PolicyOp::kEqualize, 6, 0}},
        {{PolicyOp::kEqualize, 4, 0}, {PolicyOp::kSolarize, 2, 4}},
        {{PolicyOp::kSolarize, 6, 5}, {PolicyOp::kAutoContrast, 6, 0}},
        {{PolicyOp::kInvert, 6, 0}, {PolicyOp::kEqualize, 10, 0}},
        {{PolicyOp::kColor, 6, 4}, {PolicyOp::kContrast, 10, 8}},
        {{PolicyOp::kEqualize, 8, 0}, {PolicyOp::kEqualize, 6, 0}},
    },
    {
        {{PolicyOp::kInvert, 1, 0}, {PolicyOp::kContrast, 2, 6}},
        {{PolicyOp::kRotate, 7, 2}, {PolicyOp::kTranslateX, 3, 9}},
        {{PolicyOp::kSharpness, 8, 1}, {PolicyOp::kSharpness, 9, 3}},
        {{PolicyOp::kShearY, 5, 8}, {PolicyOp::kTranslateY, 7, 9}},
        {{PolicyOp::kAutoContrast, 5, 0}, {PolicyOp::kEqualize, 9, 0}},
        {{PolicyOp::kShearY, 2, 7}, {PolicyOp::kPosterize, 3, 7}},
        {{PolicyOp::kColor, 4, 3}, {PolicyOp::kBrightness, 6, 7}},
        {{PolicyOp::kSharpness, 3, 9}, {PolicyOp::kBrightness, 7, 9}},
        {{PolicyOp::kEqualize, 6, 0}, {PolicyOp::kEqualize, 5, 0}},
        {{PolicyOp::kContrast, 6, 7}, {PolicyOp::kSharpness, 6, 5}},
        {{PolicyOp::kColor, 7, 7}, {PolicyOp::kTranslateX, 5, 8}},
        {{PolicyOp::kEqualize, 3, 0}, {PolicyOp::kAutoContrast, 4, 0}},
        {{PolicyOp::kTranslateY, 4, 3}, {PolicyOp::kSharpness, 2, 6}},
        {{PolicyOp::kBrightness, 9, 6}, {PolicyOp::kColor, 2, 8}},
        {{PolicyOp::kSolarize, 5, 2}, {PolicyOp::kInvert, 0, 0}},
        {{PolicyOp::kEqualize, 2, 0}, {PolicyOp::kAutoContrast, 6, 0}},
        {{PolicyOp::kEqualize, 2, 0}, {PolicyOp::kEqualize, 6, 0}},
        {{PolicyOp::kColor, 9, 9}, {PolicyOp::kEqualize, 6, 0}},
        {{PolicyOp::kAutoContrast, 8, 0}, {PolicyOp::kSolarize, 2, 8}},
        {{PolicyOp::kBrightness, 1, 3}, {PolicyOp::kColor, 7, 0}},
        {{PolicyOp::kSolarize, 4, 5}, {PolicyOp::kAutoContrast, 9, 0}},
        {{PolicyOp::kTranslateY, 9, 9}, {PolicyOp::kTranslateY, 7, 9}},
        {{PolicyOp::kAutoContrast, 9, 0}, {PolicyOp::kSolarize, 8, 3}},
        {{PolicyOp::kEqualize, 8, 0}, {PolicyOp::kInvert, 1, 0}},
        {{PolicyOp::kTranslateY, 7, 9}, {PolicyOp::kAutoContrast, 9, 0}},
    },
    {
        {{PolicyOp::kShearX, 9, 4}, {PolicyOp::kInvert, 2, 0}},
        {{PolicyOp::kShearY, 9, 8}, {PolicyOp::kInvert, 7, 0}},
        {{PolicyOp::kEqualize, 6, 0}, {PolicyOp::kSolarize, 6, 6}},
        {{PolicyOp::kInvert, 9, 0}, {PolicyOp::kEqualize, 6, 0}},
        {{PolicyOp::kEqualize, 6, 0}, {PolicyOp::kRotate, 9, 3}},
        {{PolicyOp::kShearX, 9, 4}, {PolicyOp::kAutoContrast, 8, 0}},
        {{PolicyOp::kShearY, 9, 8}, {PolicyOp::kInvert, 4, 0}},
        {{PolicyOp::kShearY, 9, 5}, {PolicyOp::kSolarize, 2, 6}},
        {{PolicyOp::kInvert, 9, 0}, {PolicyOp::kAutoContrast, 8, 0}},
        {{PolicyOp::kEqualize, 6, 0}, {PolicyOp::kRotate, 9, 3}},
        {{PolicyOp::kShearX, 9, 4}, {PolicyOp::kSolarize, 3, 3}},
        {{PolicyOp::kShearY, 8, 8}, {PolicyOp::kInvert, 7, 0}},
        {{PolicyOp::kEqualize, 9, 0}, {PolicyOp::kTranslateY, 6, 6}},
        {{PolicyOp::kInvert, 9, 0}, {PolicyOp::kEqualize, 6, 0}},
        {{PolicyOp::kContrast, 3, 3}, {PolicyOp::kRotate, 8, 4}},
        {{PolicyOp::kInvert, 8, 0}, {PolicyOp::kTranslateY, 0, 2}},
        {{PolicyOp::kShearY, 7, 6}, {PolicyOp::kSolarize, 4, 8}},
        {{PolicyOp::kInvert, 6, 0}, {PolicyOp::kRotate, 8, 4}},
        {{PolicyOp::kShearY, 3, 7}, {PolicyOp::kTranslateX, 9, 3}},
        {{PolicyOp::kShearX, 1, 6}, {PolicyOp::kInvert, 6, 0}},
        {{PolicyOp::kSolarize, 7, 2}, {PolicyOp::kTranslateY, 6, 7}},
        {{PolicyOp::kShearY, 8, 4}, {PolicyOp::kInvert, 8, 0}},
        {{PolicyOp::kShearX, 7, 9}, {PolicyOp::kTranslateY, 8, 3}},
        {{PolicyOp::kShearY, 8, 5}, {PolicyOp::kAutoContrast, 7, 0}},
        {{PolicyOp::kShearX, 7, 2}, {PolicyOp::kInvert, 1, 0}},
    },
};

}  // namespace penstock::augment
