// How to turn an image into a row: the part of a feed's specification that determines a row's
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/interpolation.h"
#include "common/base/status.h"
#include "server/augment/recipe/recipe.h"

namespace penstock::decode {

enum class Geometry : uint32_t {
  kRandomResizedCrop = 1,  // a random box of the image, resized to height × width
  kResizeCenterCrop =
      2,       // resizes the shorter side to `resize`, then crops height × width from the centre
  kWhole = 3,  // the whole image, from which the recipe makes height × width
};

enum class Color : uint32_t {
  kRgb = 0,
  kGray = 1,  // as Pillow's convert("L")
};

// How to treat the orientation in a file's EXIF block.
enum class Exif : uint32_t {
  kIgnore = 0,  // as torchvision's ImageFolder
  kApply = 1,   // as Pillow's ImageOps.exif_transpose, before the random draw
};

// Rows that their consumer decodes, on its GPU (../undecoded.h). Each row then has a place, which
// holds pixels or a file and ends with a note.
struct Undecoded {
  uint32_t place_bytes = 0;  // 0: all rows are decoded here
  uint32_t share = 0;        // of the samples that the consumer can decode, in 1 / 2³²; 0: none
  uint64_t decoder = 0;      // a hash of the consumer's decoder and its version
  // Of a single row, in no feed's spec; 1: its place still has what this feed wrote there last.
  uint64_t rewrites = 0;

  bool operator==(const Undecoded&) const = default;
};

// How to decode an image. Rows are uint8, height × width × channels. Trivially copyable, because it
// is sent to workers through shared memory.
struct Spec {
  Geometry geometry = Geometry::kRandomResizedCrop;
  uint32_t height = 224;
  uint32_t width = 224;
  uint32_t resize = 256;    // kResizeCenterCrop only
  double scale_min = 0.08;  // kRandomResizedCrop: fraction of the image's area …
  double scale_max = 1.0;
  double ratio_min = 3.0 / 4.0;  // … and aspect ratio, width / height
  double ratio_max = 4.0 / 3.0;
  double flip_probability = 0.0;  // horizontal flip
  Color color = Color::kRgb;
  Exif exif = Exif::kIgnore;
  base::Interpolation interpolation = base::Interpolation::kBilinear;  // of the resize
  // kWhole: 1: images may be smaller than height × width after the recipe. They are then in the
  // row's upper left corner, and the rest is zero.
  uint32_t canvas = 0;
  Undecoded undecoded = {};
  // What follows the geometry and the flip.
  augment::TransformRecipe recipe = {};

  bool operator==(const Spec&) const = default;
};

inline uint32_t Channels(const Spec& spec) { return spec.color == Color::kGray ? 1 : 3; }

// Bytes of a row's pixels.
inline size_t PixelBytes(const Spec& spec) {
  return size_t{Channels(spec)} * spec.height * spec.width;
}

// Bytes of one row: its pixels, or its place.
inline size_t RowBytes(const Spec& spec) {
  return spec.undecoded.place_bytes > 0 ? spec.undecoded.place_bytes : PixelBytes(spec);
}

// Of a place.
inline constexpr uint32_t kPlaceAlignment = 64, kMostPlaceBytes = 64u << 20;

// **Requires**: sides in 1 … 16384, 0 < min ≤ max, 0 ≤ probability ≤ 1; for kResizeCenterCrop,
// resize ≥ both sides; for kWhole, no flip. Undecoded rows have three channels, no recipe, a
// geometry that crops, and a place of a multiple of kPlaceAlignment bytes for pixels and note. The
// recipe is valid, and images have height × width after it, or may have with a canvas. **Errors**:
// InvalidArgument.
absl::Status Validate(const Spec& spec);

// Limits for one sample.
struct SampleLimits {
  uint64_t max_bytes = 16u << 20;
  uint64_t max_pixels = 100'000'000;
  // Scans of a JPEG. libjpeg writes at most 18 (progressive, four components), optimising encoders
  // about as many. A malicious file has thousands, and each costs as much as decoding the image
  // once.
  uint64_t max_scans = 100;
};

// Every random choice is a pure function of this key.
struct DrawKey {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t sample = 0;  // the sample being decoded
  uint32_t view = 0;    // of several rows of one sample, from 0 on
  uint32_t reserved = 0;
};

// The first operation of a view's draws (../../plan/README.md).
inline uint32_t FirstOperation(const DrawKey& key) { return key.view << 24; }

struct Box {
  uint32_t x = 0, y = 0, width = 0, height = 0;
};

struct Draw {
  Box crop;  // in the image; the whole image for kResizeCenterCrop
  bool flip = false;
};

// The draw for an image of this size, as ../../plan/README.md specifies it.
Draw DrawFor(const Spec& spec, const DrawKey& key, uint32_t image_width, uint32_t image_height);

}  // namespace penstock::decode
