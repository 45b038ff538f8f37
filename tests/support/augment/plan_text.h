// Recipes and plans as text, for programs that tests in Python run.
#pragma once

#include <istream>
#include <string>

#include "server/augment/recipe/plan.h"
#include "server/augment/recipe/recipe.h"

namespace penstock::augment {

// Reads `OP CHILDREN INTERPOLATION MODE FLAGS FILL×3 PROBABILITY WEIGHT ARGUMENT×12`, all numbers.
bool ReadStep(std::istream& in, Step* step);

// `NAME WIDTH HEIGHT PARAMETER…`, where the size is that of the image after it.
std::string TextOf(const RecipeAction& action);

}  // namespace penstock::augment
