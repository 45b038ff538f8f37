// What a plan does to an image's targets: masks, boxes and points. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/augment/recipe/plan.h"
#include "server/augment/warp/targets.h"

namespace penstock::augment {

// The same geometry for a mask: reads the nearest pixel, has `fill` outside of the image, and
// leaves values as they are.
std::vector<RecipeAction> PlanForMask(std::span<const RecipeAction> actions, uint8_t fill);

// Moves boxes, and clips them to each image on the way, as torchvision v2 does. `before`: the
// image's size. Returns whether that could be done: a perspective may have no inverse.
bool MoveBoxes(std::span<const RecipeAction> actions, ImageSize before,
               std::span<BoundingBox> boxes);
// Points that leave the image keep going.
bool MovePoints(std::span<const RecipeAction> actions, ImageSize before,
                std::span<KeyPoint> points);

// Whether the actions mirror the image horizontally: an odd number of horizontal flips.
bool Mirrors(std::span<const RecipeAction> actions);

// The image's size after the actions.
ImageSize SizeAfter(std::span<const RecipeAction> actions, ImageSize before);

}  // namespace penstock::augment
