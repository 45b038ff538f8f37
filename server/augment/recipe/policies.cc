#include <algorithm>
#include <array>
#include <span>

#include "server/augment/recipe/auto_augment.h"
#include "server/augment/recipe/planner.h"
#include "server/augment/recipe/policy_ops.h"
#include "server/augment/recipe/steps.h"

namespace penstock::augment {
namespace {

// Those of RandAugment and AutoAugment.
Magnitudes UsualMagnitudes(ImageSize size, uint32_t bins) {
  return {.bins = bins,
          .shear = 0.3,
          .translate_x = 150.0 / 331.0 * size.width,
          .translate_y = 150.0 / 331.0 * size.height,
          .rotate = 30,
          .enhance = 0.9,
          .most_bits = 8,
          .fewer_bits = 4};
}

Magnitudes WideMagnitudes(uint32_t bins) {
  return {.bins = bins,
          .shear = 0.99,
          .translate_x = 32,
          .translate_y = 32,
          .rotate = 135,
          .enhance = 0.99,
          .most_bits = 8,
          .fewer_bits = 6};
}

Magnitudes MixMagnitudes(ImageSize size) {
  return {.bins = 10,
          .shear = 0.3,
          .translate_x = size.width / 3.0,
          .translate_y = size.height / 3.0,
          .rotate = 30,
          .enhance = 0.9,
          .most_bits = 4,
          .fewer_bits = 4};
}

// In torchvision's order. The last four need kAllOps.
constexpr PolicyOp kMixOps[] = {
    PolicyOp::kShearX,    PolicyOp::kShearY,     PolicyOp::kTranslateX, PolicyOp::kTranslateY,
    PolicyOp::kRotate,    PolicyOp::kPosterize,  PolicyOp::kSolarize,   PolicyOp::kAutoContrast,
    PolicyOp::kEqualize,  PolicyOp::kBrightness, PolicyOp::kColor,      PolicyOp::kContrast,
    PolicyOp::kSharpness,
};
constexpr uint32_t kMixAllOps = 13, kMixFewOps = 9;

// Each chain has 32 words from `1 + 32 · chain` on: its depth, then three for each operation.
constexpr uint32_t kWordsPerChain = 32;
static_assert(1 + 3 * kMaxMixDepth <= kWordsPerChain);

constexpr uint32_t kOriginalPage = 1, kChainsPage = 2;

double WithSign(PolicyOp op, double magnitude, bool negative) {
  return IsSigned(op) && negative ? -magnitude : magnitude;
}

void PlanChain(const Step& step, uint32_t first, Words& words, Planner& planner) {
  const Magnitudes magnitudes = MixMagnitudes(planner.size());
  const uint32_t ops = (step.flags & kAllOps) != 0 ? kMixAllOps : kMixFewOps;
  const auto severity = static_cast<uint32_t>(step.args[AugMixArgs::kSeverity]);
  const int32_t given = Whole(step, AugMixArgs::kDepth);
  const uint32_t depth = given > 0 ? static_cast<uint32_t>(given) : 1 + words.Below(first, 3);
  for (uint32_t i = 0; i < depth; ++i) {
    const uint32_t word = first + 1 + 3 * i;
    const PolicyOp op = kMixOps[words.Below(word, ops)];
    const double magnitude = magnitudes.Of(op, words.Below(word + 1, severity));
    AddPolicyOp(op, WithSign(op, magnitude, words.Coin(word + 2)), ToSampler(step), planner);
  }
}

}  // namespace

void PlanRandAugment(const Step& step, Words words, Planner& planner) {
  const auto bins = static_cast<uint32_t>(step.args[RandAugmentArgs::kBins]);
  const auto bin = static_cast<uint32_t>(step.args[RandAugmentArgs::kMagnitude]);
  const auto count = static_cast<uint32_t>(step.args[RandAugmentArgs::kNumOps]);
  const Magnitudes magnitudes = UsualMagnitudes(planner.size(), bins);
  for (uint32_t i = 0; i < count; ++i) {
    const auto op = static_cast<PolicyOp>(words.Below(1 + 2 * i, kRandomOps));
    const bool negative = words.Coin(2 + 2 * i);
    AddPolicyOp(op, WithSign(op, magnitudes.Of(op, bin), negative), ToSampler(step), planner);
  }
}

void PlanTrivialAugmentWide(const Step& step, Words words, Planner& planner) {
  const auto bins = static_cast<uint32_t>(step.args[TrivialAugmentArgs::kBins]);
  const auto op = static_cast<PolicyOp>(words.Below(1, kRandomOps));
  const double magnitude = WideMagnitudes(bins).Of(op, words.Below(2, bins));
  AddPolicyOp(op, WithSign(op, magnitude, words.Coin(3)), ToSampler(step), planner);
}

void PlanAutoAugment(const Step& step, Words words, Planner& planner) {
  const auto& pair = kAutoAugment[step.mode][words.Below(1, kPairs)];
  const Magnitudes magnitudes = UsualMagnitudes(planner.size(), 10);
  for (uint32_t i = 0; i < 2; ++i) {
    const PolicyPart& part = pair[i];
    if (!(words.Unit(2 + i) < part.tenths / 10.0)) continue;
    const double magnitude = magnitudes.Of(part.op, part.magnitude);
    AddPolicyOp(part.op, WithSign(part.op, magnitude, words.Coin(4 + i)), ToSampler(step), planner);
  }
}

// Weights are rounded to float before and after they are multiplied, as torch does.
void PlanAugMix(const Step& step, Words words, Planner& planner) {
  const auto width = static_cast<uint32_t>(step.args[AugMixArgs::kWidth]);
  std::array<double, kMaxMixWidth> shapes;
  shapes.fill(step.args[AugMixArgs::kAlpha]);
  std::array<double, 2> halves;
  base::DrawDirichlet(std::span(shapes).first(2), words.Page(kOriginalPage), 0, halves);
  std::array<double, kMaxMixWidth> shares;
  base::DrawDirichlet(std::span(shapes).first(width), words.Page(kChainsPage), 0,
                      std::span(shares).first(width));
  planner.Add(MixBegin{static_cast<float>(halves[0])});
  for (uint32_t chain = 0; chain < width; ++chain) {
    PlanChain(step, 1 + chain * kWordsPerChain, words, planner);
    planner.Add(ChainEnd{static_cast<float>(shares[chain]) * static_cast<float>(halves[1])});
  }
  planner.Add(MixEnd{});
}

}  // namespace penstock::augment
