// Flips, and turns by multiples of 90 degrees. Pure.
#pragma once

#include "server/augment/image.h"
#include "server/augment/scratch.h"

namespace penstock::augment {

// Swaps left and right, and top and bottom. **Errors**: std::bad_alloc.
void FlipHorizontal(const ImageView& image, Scratch& scratch);
void FlipVertical(const ImageView& image, Scratch& scratch);

// Turns counterclockwise, as Pillow's ROTATE_90, ROTATE_180 and ROTATE_270. **Requires** views that
// do not overlap, with equal channels; `out` has the sides of `in`, swapped for 90 and 270 degrees.
void Turn90(const ConstImageView& in, const ImageView& out);
void Turn180(const ConstImageView& in, const ImageView& out);
void Turn270(const ConstImageView& in, const ImageView& out);

}  // namespace penstock::augment
