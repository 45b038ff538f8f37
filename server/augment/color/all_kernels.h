// Every variant of the kernels, for tests.
#pragma once

#include <span>

#include "server/augment/color/blur.h"
#include "server/augment/color/blur_kernels.h"
#include "server/augment/color/kernels.h"

namespace penstock::augment {

// Fastest first; the last one runs on every CPU.
std::span<const ColorKernels* const> AllColorKernels();
std::span<const BlurKernels* const> AllBlurKernels();

// GaussianBlur with the given kernels, which this CPU has to support.
void GaussianBlurWith(const BlurKernels& kernels, const ImageView& image, const Blur& blur,
                      Scratch& scratch);

}  // namespace penstock::augment
