// Resizes images that are in memory as a whole, exactly as Pillow's crop and resize. Pure.
// **Thread safety**: one thread. Keeps its memory between images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/aligned_buffer.h"
#include "common/base/interpolation.h"
#include "server/augment/image.h"
#include "server/decode/core/placement.h"
#include "server/decode/resample/kernels.h"
#include "server/decode/resample/resampler.h"

namespace penstock::decode {

class ImageResizer {
 public:
  ImageResizer() : ImageResizer(BestKernels()) {}
  explicit ImageResizer(const Kernels& kernels) : resampler_(kernels) {}

  // Resizes the box `crop` of `from` to all of `to`. Pixels beside the box have no effect, as if
  // the image had been cropped first.
  // **Requires**: the box is not empty and lies within `from`; `to` has as many channels, and
  // doesn't overlap `from`. Throws std::bad_alloc.
  void Resize(const augment::ConstImageView& from, const Box& crop, const augment::ImageView& to,
              base::Interpolation interpolation);

  // The same for part of the result, and with a flip: `to` has placement.x.count ×
  // placement.y.count pixels.
  void Resize(const augment::ConstImageView& from, const Placement& placement,
              const augment::ImageView& to);

 private:
  void CopyNearest(const augment::ConstImageView& from, const Placement& placement,
                   const augment::ImageView& to);
  void PrepareOffsets(const augment::ConstImageView& from, const Placement& placement);
  void Resample(const augment::ConstImageView& from, const Placement& placement,
                const augment::ImageView& to);
  void Feed(const augment::ConstImageView& from, const Placement& placement);

  Resampler resampler_;
  Taps x_taps_;  // for the nearest pixel
  Taps y_taps_;
  std::vector<uint32_t> offsets_;    // of its outputs' bytes in a row of the input
  base::AlignedBuffer staging_;      // kRowsAtOnce rows of RGBX
  base::AlignedBuffer gray_as_rgb_;  // the result before it is reduced to one channel
};

}  // namespace penstock::decode
