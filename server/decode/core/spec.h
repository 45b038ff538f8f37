// What to make of an image: the part of a feed that decides a row's bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/status.h"

namespace penstock::decode {

enum class Geometry : uint32_t {
  kRandomResizedCrop = 1,  // a random box of the image, resized to height × width
  kResizeCenterCrop = 2,   // shorter side to `resize`, then the middle height × width
};

enum class Color : uint32_t {
  kRgb = 0,
  kGray = 1,  // as Pillow's convert("L")
};

// What to do about an orientation that a file's EXIF block names.
enum class Exif : uint32_t {
  kIgnore = 0,  // as torchvision's ImageFolder
  kApply = 1,   // as Pillow's ImageOps.exif_transpose, before anything is drawn
};

// Trivially copyable: it travels to workers in shared memory as it is. Rows are uint8, height ×
// width × channels.
struct Spec {
  Geometry geometry = Geometry::kRandomResizedCrop;
  uint32_t height = 224;
  uint32_t width = 224;
  uint32_t resize = 256;    // kResizeCenterCrop only
  double scale_min = 0.08;  // kRandomResizedCrop: share of the image's area …
  double scale_max = 1.0;
  double ratio_min = 3.0 / 4.0;  // … and aspect ratio, width / height
  double ratio_max = 4.0 / 3.0;
  double flip_probability = 0.0;  // horizontal
  Color color = Color::kRgb;
  Exif exif = Exif::kIgnore;

  bool operator==(const Spec&) const = default;
};

inline uint32_t Channels(const Spec& spec) { return spec.color == Color::kGray ? 1 : 3; }

// Bytes of one row.
inline size_t RowBytes(const Spec& spec) {
  return size_t{Channels(spec)} * spec.height * spec.width;
}

// Sides 1…16384, 0 < min ≤ max, 0 ≤ probability ≤ 1, resize ≥ both sides for kResizeCenterCrop.
absl::Status Validate(const Spec& spec);

// What one file may cost.
struct Limits {
  uint64_t max_bytes = 16u << 20;
  uint64_t max_pixels = 100'000'000;
  // Of a JPEG. libjpeg writes at most 18 (progressive, four colours), encoders that optimise about
  // as many; a file made to cost time has thousands, each as dear as decoding the image once.
  uint64_t max_scans = 100;
};

// What every random choice is a pure function of.
struct DrawKey {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t sample = 0;  // the sample whose bytes these are
};

struct Box {
  uint32_t x = 0, y = 0, width = 0, height = 0;
};

struct Draw {
  Box crop;  // in the image; the whole image for kResizeCenterCrop
  bool flip = false;
};

// The draw for an image of the given size: README.md specifies it.
Draw DrawFor(const Spec& spec, const DrawKey& key, uint32_t image_width, uint32_t image_height);

}  // namespace penstock::decode
