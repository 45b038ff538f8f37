// Operations that blend an image with a degenerate version of itself, changes of the hue, and gray.
// Their bytes equal those of torchvision's functional calls on Pillow's images. Pure.
//
// All work in place, for images with one channel or three. **Requires** of every factor: it is
// finite, also after rounding to float. 1 gives the original image, 0 the degenerate one; other
// values extrapolate, and the result is clipped.
#pragma once

#include "server/augment/image.h"
#include "server/augment/scratch.h"

namespace penstock::augment {

// Blends with black.
void Brightness(const ImageView& image, double factor);

// Blends with the mean of the luma.
void Contrast(const ImageView& image, double factor);

// Blends with the luma (Pillow's ImageEnhance.Color). Gray images stay as they are.
void Saturation(const ImageView& image, double factor);

// Blends with Pillow's ImageFilter.SMOOTH: 3 × 3 pixels, of which the central one counts five
// times. The image's border stays as it is.
void Sharpness(const ImageView& image, double factor, Scratch& scratch);

// Converts to HSV, adds ⌊factor · 255⌋ (truncated towards zero) to the hue modulo 256, and converts
// back. Gray images stay as they are. **Requires**: −0.5 ≤ factor ≤ 0.5.
void Hue(const ImageView& image, double factor);

// Replaces all three channels by the luma. Gray images stay as they are.
void Grayscale(const ImageView& image);

}  // namespace penstock::augment
