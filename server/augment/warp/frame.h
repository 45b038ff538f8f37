// Crop and pad, as torchvision's functional.crop and functional.pad for Pillow's images. Pure.
#pragma once

#include <optional>

#include "server/augment/image.h"
#include "server/augment/scratch.h"
#include "server/augment/warp/matrix.h"
#include "server/augment/warp/sampling.h"

namespace penstock::augment {

// Copies the part of `in` whose upper left corner is (left, top) and whose size is that of `out`.
// What is outside of `in` becomes 0.
//
// **Requires** views that do not overlap, with equal channels.
struct CropOrigin {
  int64_t left, top;
};
void Crop(const ConstImageView& in, const ImageView& out, CropOrigin origin);

// Pixels to add on each side. Negative numbers cut off pixels.
struct Padding {
  int32_t left, top, right, bottom;
};

// kReflect mirrors the image without repeating the edge, kSymmetric repeats it. Where the padding
// is wider than the image, the reflection is reflected again, and so on. An image of one row or
// column is repeated.
enum class PadMode : uint8_t { kConstant, kEdge, kReflect, kSymmetric };

// None if no pixel would be left; or, except for kConstant, if negative padding leaves none of the
// image; or if a side would have 2³¹ pixels or more.
std::optional<ImageSize> PaddedSize(ImageSize size, const Padding& padding, PadMode mode);

// **Requires** that `out` has the padded size, equal channels, and views that do not overlap.
// **Errors**: std::bad_alloc.
struct PadStyle {
  PadMode mode = PadMode::kConstant;
  Fill fill;  // kConstant
};
void Pad(const ConstImageView& in, const ImageView& out, const Padding& padding,
         const PadStyle& style, Scratch& scratch);

}  // namespace penstock::augment
