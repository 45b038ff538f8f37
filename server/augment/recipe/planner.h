// Builds a plan, operation by operation. Private to this folder.
#pragma once

#include <cmath>
#include <vector>

#include "server/augment/recipe/plan.h"
#include "server/augment/recipe/words.h"

namespace penstock::augment {

class Planner {
 public:
  Planner(const base::DrawSource& source, ImageSize size, const RecipeLimits& limits,
          std::vector<RecipeAction>* actions)
      : source_(source), size_(size), limits_(limits), actions_(*actions) {}

  ImageSize size() const { return size_; }
  RecipeOutcome outcome() const { return outcome_; }
  bool failed() const { return outcome_ != RecipeOutcome::kDone; }
  Words MakeWords(uint32_t place) const { return {source_, place}; }

  void Fail(RecipeOutcome outcome) {
    if (!failed()) outcome_ = outcome;
  }

  void Add(const ActionKind& what) { actions_.push_back({what, size_}); }

  // An operation that changes the size.
  void AddSized(const ActionKind& what, ImageSize size) {
    if (uint64_t{size.width} * size.height > limits_.max_pixels)
      return Fail(RecipeOutcome::kTooLarge);
    size_ = size;
    Add(what);
  }

  void AddPadding(const Padding& padding, const PadStyle& style) {
    if (padding.left == 0 && padding.top == 0 && padding.right == 0 && padding.bottom == 0) return;
    const std::optional<ImageSize> size = PaddedSize(size_, padding, style.mode);
    if (!size) return Fail(RecipeOutcome::kTooSmall);
    AddSized(PadBy{padding, style}, *size);
  }

  void AddCrop(CropOrigin origin, ImageSize size) {
    if (origin.left == 0 && origin.top == 0 && size.width == size_.width &&
        size.height == size_.height) {
      return;
    }
    AddSized(CropAt{origin}, size);
  }

  void AddRotation(const Rotation& rotation, const Sampler& sampler) {
    AddSized(RotateBy{rotation, sampler}, PlanRotation(size_, rotation).size);
  }

 private:
  const base::DrawSource source_;
  ImageSize size_;
  const RecipeLimits limits_;
  std::vector<RecipeAction>& actions_;
  RecipeOutcome outcome_ = RecipeOutcome::kDone;
};

// Of any image; its position fits an int32_t with some room.
inline constexpr uint32_t kMostSide = 1u << 29;

// The step's probability has been drawn already.
void PlanResize(const Step& step, Planner& planner);
void PlanRandomResizedCrop(const Step& step, const Words& words, Planner& planner);
void PlanRandomShortestSize(const Step& step, Words words, Planner& planner);
void PlanScaleJitter(const Step& step, Words words, Planner& planner);
void PlanRandomResize(const Step& step, Words words, Planner& planner);

// The policies. The step's probability has been drawn already.
void PlanRandAugment(const Step& step, Words words, Planner& planner);
void PlanTrivialAugmentWide(const Step& step, Words words, Planner& planner);
void PlanAutoAugment(const Step& step, Words words, Planner& planner);
void PlanAugMix(const Step& step, Words words, Planner& planner);

}  // namespace penstock::augment
