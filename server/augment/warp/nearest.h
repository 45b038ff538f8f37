// Affine maps without reading between pixels. Pillow computes them in three ways, which round
// differently: scaling, 16.16 fixed point, and double for images that are too large for that.
// Private to this folder.
#pragma once

#include "server/augment/image.h"
#include "server/augment/scratch.h"
#include "server/augment/warp/matrix.h"
#include "server/augment/warp/sampling.h"

namespace penstock::augment {

// As Affine (transform.h) with Sampling::kNearest.
void AffineNearest(const ConstImageView& in, const ImageView& out, const AffineMatrix& matrix,
                   const Fill& fill, Scratch& scratch);

}  // namespace penstock::augment
