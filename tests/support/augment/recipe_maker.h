// Recipes for tests.
#pragma once

#include <initializer_list>

#include "server/augment/recipe/recipe.h"

namespace penstock::augment {

inline Step MakeStep(Op op, std::initializer_list<double> args = {}, uint32_t children = 0) {
  Step step;
  step.op = op;
  step.children = children;
  std::copy(args.begin(), args.end(), step.args);
  return step;
}

inline TransformRecipe MakeRecipe(std::initializer_list<Step> steps) {
  TransformRecipe recipe;
  recipe.count = static_cast<uint32_t>(steps.size());
  std::copy(steps.begin(), steps.end(), recipe.steps);
  return recipe;
}

}  // namespace penstock::augment
