// A step's numbers as clients give them: one after the other, as the message TransformOp lists
// them.
#pragma once

#include <span>

#include "common/base/status.h"
#include "server/augment/recipe/recipe.h"

namespace penstock::augment {

// Fills in what the numbers say of `step`, whose operation is set: arguments, flags, mode and fill.
// **Errors**: InvalidArgument for an unknown operation, another count of numbers, or a fill that
// cannot be.
absl::Status TakeNumbers(std::span<const double> numbers, Step& step);

}  // namespace penstock::augment
