#include "server/decode/resize.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "common/base/check.h"
#include "server/decode/gray.h"

namespace penstock::decode {
namespace {

using augment::ConstImageView;
using augment::ImageView;

// RGB to RGBX; X is arbitrary. Reads no byte beyond the last pixel.
void ExpandRgb(const uint8_t* from, size_t count, uint8_t* to) {
  for (size_t i = 0; i + 1 < count; ++i) memcpy(to + 4 * i, from + 3 * i, 4);
  memcpy(to + 4 * (count - 1), from + 3 * (count - 1), 3);
}

// Gray to RGBX with equal channels.
void ExpandGray(const uint8_t* from, size_t count, uint8_t* to) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t pixel = from[i] * 0x01010101u;
    memcpy(to + 4 * i, &pixel, 4);
  }
}

bool KeepsSize(const Axis& axis) { return axis.in == axis.out; }

void CheckSizes(const ConstImageView& from, const Placement& placement, const ImageView& to) {
  const Box& crop = placement.crop;
  PENSTOCK_CHECK(from.channels == to.channels && (to.channels == 1 || to.channels == 3));
  PENSTOCK_CHECK(uint64_t{crop.x} + crop.width <= from.width &&
                 uint64_t{crop.y} + crop.height <= from.height);
  PENSTOCK_CHECK(placement.x.in == crop.width && placement.y.in == crop.height);
  PENSTOCK_CHECK(placement.x.count == to.width && placement.y.count == to.height);
}

void CopyGray(const uint8_t* row, std::span<const uint32_t> offsets, uint8_t* to) {
  for (size_t i = 0; i < offsets.size(); ++i) to[i] = row[offsets[i]];
}

void CopyRgb(const uint8_t* row, std::span<const uint32_t> offsets, uint8_t* to) {
  for (size_t i = 0; i < offsets.size(); ++i) memcpy(to + 3 * i, row + offsets[i], 3);
}

// Faster: each pixel with the byte behind it, which the next one overwrites. So a byte must be
// readable behind the row.
void CopyRgbAndNext(const uint8_t* row, std::span<const uint32_t> offsets, uint8_t* to) {
  const size_t last = offsets.size() - 1;
  for (size_t i = 0; i < last; ++i) memcpy(to + 3 * i, row + offsets[i], 4);
  memcpy(to + 3 * last, row + offsets[last], 3);
}

}  // namespace

void ImageResizer::Resize(const ConstImageView& from, const Box& crop, const ImageView& to,
                          base::Interpolation interpolation) {
  Resize(from,
         {crop,
          {crop.width, to.width, 0, to.width},
          {crop.height, to.height, 0, to.height},
          false,
          interpolation},
         to);
}

void ImageResizer::Resize(const ConstImageView& from, const Placement& placement,
                          const ImageView& to) {
  CheckSizes(from, placement, to);
  // All filters agree on an image that keeps its size.
  const bool keeps_size = KeepsSize(placement.x) && KeepsSize(placement.y);
  if (keeps_size || placement.interpolation == base::Interpolation::kNearest) {
    CopyNearest(from, placement, to);
  } else {
    Resample(from, placement, to);
  }
}

void ImageResizer::CopyNearest(const ConstImageView& from, const Placement& placement,
                               const ImageView& to) {
  PrepareOffsets(from, placement);
  y_taps_.Compute(placement.y, base::Interpolation::kNearest);
  const bool keeps_columns = KeepsSize(placement.x) && !placement.flip;
  for (uint32_t y = 0; y < to.height; ++y) {
    const uint32_t input = placement.crop.y + y_taps_.inputs(y).first;
    if (y > 0 && y_taps_.inputs(y - 1).first == y_taps_.inputs(y).first) {
      memcpy(to.row(y), to.row(y - 1), to.row_bytes());
    } else if (keeps_columns) {
      memcpy(to.row(y), from.row(input) + offsets_[0], to.row_bytes());
    } else if (to.channels == 1) {
      CopyGray(from.row(input), offsets_, to.row(y));
    } else if (input + 1 < from.height) {
      CopyRgbAndNext(from.row(input), offsets_, to.row(y));
    } else {
      CopyRgb(from.row(input), offsets_, to.row(y));
    }
  }
}

void ImageResizer::PrepareOffsets(const ConstImageView& from, const Placement& placement) {
  x_taps_.Compute(placement.x, base::Interpolation::kNearest);
  offsets_.resize(placement.x.count);
  for (uint32_t i = 0; i < offsets_.size(); ++i) {
    offsets_[i] = from.channels * (placement.crop.x + x_taps_.inputs(i).first);
  }
  if (placement.flip) std::reverse(offsets_.begin(), offsets_.end());
}

// As in Decoder, a gray image is resized as three equal channels and reduced to one at the end.
void ImageResizer::Resample(const ConstImageView& from, const Placement& placement,
                            const ImageView& to) {
  if (to.channels == 3) {
    resampler_.Begin(placement, to.data);
    return Feed(from, placement);
  }
  gray_as_rgb_.Reserve(3 * to.pixels());
  resampler_.Begin(placement, gray_as_rgb_.data());
  Feed(from, placement);
  TakeOneChannel(gray_as_rgb_.data(), to.pixels(), to.data);
}

void ImageResizer::Feed(const ConstImageView& from, const Placement& placement) {
  const TapRange columns = resampler_.columns();
  const TapRange rows = resampler_.rows();
  const size_t stride =
      base::RoundUp(size_t{4} * columns.count + kSlackBytes, base::AlignedBuffer::kAlignment);
  staging_.Reserve(kRowsAtOnce * stride);
  const uint8_t* staged[kRowsAtOnce];
  for (int i = 0; i < kRowsAtOnce; ++i) staged[i] = staging_.data() + i * stride;
  const size_t left = (size_t{placement.crop.x} + columns.first) * from.channels;
  const auto expand = from.channels == 3 ? ExpandRgb : ExpandGray;
  for (uint32_t done = 0; done < rows.count; done += kRowsAtOnce) {
    const uint32_t count = std::min<uint32_t>(kRowsAtOnce, rows.count - done);
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t row = placement.crop.y + rows.first + done + i;
      expand(from.row(row) + left, columns.count, staging_.data() + i * stride);
    }
    resampler_.Take(staged, count);
  }
}

}  // namespace penstock::decode
