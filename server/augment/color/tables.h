// Operations that replace each value by another, whatever the pixels around it. Their bytes equal
// those of torchvision's functional calls on Pillow's images. Pure.
//
// All work in place, for images with one channel or three.
#pragma once

#include "server/augment/image.h"

namespace penstock::augment {

// v becomes 255 − v.
void Invert(const ImageView& image);

// Keeps the upper `bits` bits of each value. **Requires**: 0 ≤ bits ≤ 8.
void Posterize(const ImageView& image, int bits);

// Inverts the values that are not below `threshold`, which may be any number.
void Solarize(const ImageView& image, double threshold);

// Stretches each channel linearly, so that its lowest value becomes 0 and its highest 255. Channels
// with a single value stay as they are.
void AutoContrast(const ImageView& image);

// Makes the values of each channel as equally frequent as a table of values can.
void Equalize(const ImageView& image);

}  // namespace penstock::augment
