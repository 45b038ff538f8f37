#include "server/augment/warp/frame.h"

#include <algorithm>
#include <cstring>

#include "server/augment/warp/fill_row.h"

namespace penstock::augment {
namespace {

// Output pixels from `begin` to before `end` along one direction show the input's from `first` on.
struct Overlap {
  int64_t begin, end, first;
};

Overlap FindOverlap(int64_t origin, uint32_t in, uint32_t out) {
  const int64_t begin = std::clamp<int64_t>(-origin, 0, out);
  const int64_t end = std::clamp<int64_t>(int64_t{in} - origin, begin, out);
  return {begin, end, origin + begin};
}

// Crop with a colour for what is outside.
void CopyWindow(const ConstImageView& in, const ImageView& out, CropOrigin origin,
                const Fill& fill) {
  const Overlap x = FindOverlap(origin.left, in.width, out.width);
  const Overlap y = FindOverlap(origin.top, in.height, out.height);
  const uint32_t channels = in.channels;
  for (int64_t row = 0; row < out.height; ++row) {
    uint8_t* const to = out.row(static_cast<uint32_t>(row));
    if (row < y.begin || row >= y.end || x.begin == x.end) {
      FillPixels(to, out.width, channels, fill);
      continue;
    }
    FillPixels(to, static_cast<size_t>(x.begin), channels, fill);
    memcpy(to + x.begin * channels,
           in.row(static_cast<uint32_t>(y.first + row - y.begin)) + x.first * channels,
           static_cast<size_t>(x.end - x.begin) * channels);
    FillPixels(to + x.end * channels, static_cast<size_t>(out.width - x.end), channels, fill);
  }
}

// The input's pixel, in [0, size), for pixel `at` of the infinite continuation.
uint32_t Continue(int64_t at, int64_t size, PadMode mode) {
  if (mode == PadMode::kEdge || size == 1) {
    return static_cast<uint32_t>(std::clamp<int64_t>(at, 0, size - 1));
  }
  const int64_t period = mode == PadMode::kReflect ? 2 * (size - 1) : 2 * size;
  const int64_t last = mode == PadMode::kReflect ? period : period - 1;
  const int64_t place = (at % period + period) % period;
  return static_cast<uint32_t>(place < size ? place : last - place);
}

// What is left of the image along one direction once negative padding has cut it, and the padding.
struct Direction {
  int64_t first, size, before, after;
};

Direction MakeDirection(uint32_t size, int32_t before, int32_t after) {
  const int64_t cut = std::max<int64_t>(-int64_t{before}, 0);
  return {cut, int64_t{size} - cut - std::max<int64_t>(-int64_t{after}, 0),
          std::max<int64_t>(before, 0), std::max<int64_t>(after, 0)};
}

// The byte in the output row that each padded pixel repeats: those before the image, then those
// behind it.
void FindSources(const Direction& x, PadMode mode, uint32_t channels, size_t* sources) {
  const auto source = [&](int64_t at) {
    return (static_cast<size_t>(x.before) + Continue(at, x.size, mode)) * channels;
  };
  for (int64_t i = 0; i < x.before; ++i) sources[i] = source(i - x.before);
  for (int64_t i = 0; i < x.after; ++i) sources[x.before + i] = source(x.size + i);
}

template <int kChannelCount>
void RepeatPixels(uint8_t* row, const Direction& x, const size_t* sources) {
  for (int64_t i = 0; i < x.before; ++i) {
    memcpy(row + i * kChannelCount, row + sources[i], kChannelCount);
  }
  uint8_t* const behind = row + (x.before + x.size) * kChannelCount;
  for (int64_t i = 0; i < x.after; ++i) {
    memcpy(behind + i * kChannelCount, row + sources[x.before + i], kChannelCount);
  }
}

// Writes the rows that show the image, and then copies them to those above and below.
void PadWithImage(const ConstImageView& in, const ImageView& out, const Padding& padding,
                  PadMode mode, Scratch& scratch) {
  const Direction x = MakeDirection(in.width, padding.left, padding.right);
  const Direction y = MakeDirection(in.height, padding.top, padding.bottom);
  const uint32_t channels = in.channels;
  size_t* const sources = reinterpret_cast<size_t*>(
      scratch.Reserve(static_cast<size_t>(x.before + x.after) * sizeof(size_t)));
  FindSources(x, mode, channels, sources);
  const auto out_row = [&](int64_t row) { return out.row(static_cast<uint32_t>(y.before + row)); };
  for (int64_t row = 0; row < y.size; ++row) {
    uint8_t* const to = out_row(row);
    memcpy(to + x.before * channels,
           in.row(static_cast<uint32_t>(y.first + row)) + x.first * channels,
           static_cast<size_t>(x.size) * channels);
    channels == 1 ? RepeatPixels<1>(to, x, sources) : RepeatPixels<3>(to, x, sources);
  }
  const auto repeat = [&](int64_t row) {
    memcpy(out_row(row), out_row(Continue(row, y.size, mode)), out.row_bytes());
  };
  for (int64_t i = 1; i <= y.before; ++i) repeat(-i);
  for (int64_t i = 0; i < y.after; ++i) repeat(y.size + i);
}

// 0 if the side is impossible.
uint32_t PaddedSide(uint32_t size, int32_t before, int32_t after, PadMode mode) {
  const int64_t padded = int64_t{size} + before + after;
  if (padded < 1 || padded > INT32_MAX) return 0;
  if (mode != PadMode::kConstant && MakeDirection(size, before, after).size < 1) return 0;
  return static_cast<uint32_t>(padded);
}

}  // namespace

void Crop(const ConstImageView& in, const ImageView& out, CropOrigin origin) {
  CopyWindow(in, out, origin, Fill{});
}

std::optional<ImageSize> PaddedSize(ImageSize size, const Padding& padding, PadMode mode) {
  const uint32_t width = PaddedSide(size.width, padding.left, padding.right, mode);
  const uint32_t height = PaddedSide(size.height, padding.top, padding.bottom, mode);
  if (width == 0 || height == 0) return std::nullopt;
  return ImageSize{width, height};
}

void Pad(const ConstImageView& in, const ImageView& out, const Padding& padding,
         const PadStyle& style, Scratch& scratch) {
  if (style.mode == PadMode::kConstant) {
    return CopyWindow(in, out, {-int64_t{padding.left}, -int64_t{padding.top}}, style.fill);
  }
  PadWithImage(in, out, padding, style.mode, scratch);
}

}  // namespace penstock::augment
