// The end of a row's place in sessions whose consumer decodes on its GPU: what the place holds. A
// worker writes it, the client reads it, and nobody in between.
//
//   place:  pixels or a JPEG file, from its beginning · zeros · RowNote
//
// Workers may be hijacked by the files that they read, so the client checks each number.
#pragma once

#include <cstdint>

namespace penstock::shm {

// Wire values, so existing numbers are permanent.
enum class RowHolds : uint32_t {
  kPixels = 1,  // the row: uint8, height × width × 3
  kJpeg = 2,    // a whole JPEG file, of which the rest of the note makes the row
};

// One axis of a resize, as resample::Axis: `in` pixels of the box become `out`, of which the row is
// `count` from `first` on.
struct RowAxis {
  uint32_t in = 0, out = 0, first = 0, count = 0;
};

struct RowNote {
  RowHolds holds = RowHolds::kPixels;
  uint32_t bytes = 0;              // of the pixels or the file
  uint32_t width = 0, height = 0;  // of the image, in pixels, as the file's header says
  uint32_t left = 0, top = 0;      // of the box, whose size is x.in × y.in
  RowAxis x = {}, y = {};
  uint32_t flip = 0;           // 1: the row is mirrored horizontally
  uint32_t interpolation = 0;  // base::Interpolation
};
static_assert(sizeof(RowNote) == 64);

}  // namespace penstock::shm
