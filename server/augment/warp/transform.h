// Image.transform of Pillow: affine and perspective maps of an image. Pure.
#pragma once

#include "server/augment/image.h"
#include "server/augment/scratch.h"
#include "server/augment/warp/matrix.h"
#include "server/augment/warp/sampling.h"

namespace penstock::augment {

// The output pixel (x, y) shows the input at the place to which the matrix maps (x + ½, y + ½). The
// output may have any size; torchvision's affine keeps it.
//
// **Requires** views that do not overlap, equal channels, sides below 2³⁰, a finite matrix, and a
// sampling that CanSample accepts.
// **Errors**: std::bad_alloc.
void Affine(const ConstImageView& in, const ImageView& out, const AffineMatrix& matrix,
            const Sampler& sampler, Scratch& scratch);

// The same with a perspective map.
void Perspective(const ConstImageView& in, const ImageView& out,
                 const PerspectiveCoefficients& coefficients, const Sampler& sampler);

}  // namespace penstock::augment
