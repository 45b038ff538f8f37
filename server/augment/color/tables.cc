#include "server/augment/color/tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "server/augment/color/kernels.h"

namespace penstock::augment {
namespace {

using Histogram = std::array<uint64_t, 256>;
using Table = uint8_t[256];

// Counts in several tables in turn: a count that was just incremented takes cycles to be read
// again, and neighbours are often equal.
template <uint32_t kChannels>
void Count(const ConstImageView& image, Histogram* histograms) {
  constexpr size_t kTurns = kChannels == 1 ? 4 : 2;
  constexpr size_t kMostAtOnce = size_t{1} << 30;
  const uint8_t* at = image.data;
  for (size_t left = image.pixels(); left > 0;) {
    const size_t pixels = std::min(left, kMostAtOnce);
    uint32_t counts[kTurns][kChannels][256] = {};
    size_t i = 0;
    for (; i + kTurns <= pixels; i += kTurns) {
      for (size_t turn = 0; turn < kTurns; ++turn) {
        for (uint32_t c = 0; c < kChannels; ++c) ++counts[turn][c][*at++];
      }
    }
    for (; i < pixels; ++i) {
      for (uint32_t c = 0; c < kChannels; ++c) ++counts[0][c][*at++];
    }
    for (const auto& turn : counts) {
      for (uint32_t c = 0; c < kChannels; ++c) {
        for (int v = 0; v < 256; ++v) histograms[c][v] += turn[c][v];
      }
    }
    left -= pixels;
  }
}

int Lowest(const Histogram& histogram) {
  return static_cast<int>(
      std::find_if(histogram.begin(), histogram.end(), [](uint64_t count) { return count > 0; }) -
      histogram.begin());
}

int Highest(const Histogram& histogram) {
  return 255 - static_cast<int>(std::find_if(histogram.rbegin(), histogram.rend(),
                                             [](uint64_t count) { return count > 0; }) -
                                histogram.rbegin());
}

void SetIdentity(Table& table) {
  for (int v = 0; v < 256; ++v) table[v] = static_cast<uint8_t>(v);
}

// Pillow's ImageOps.autocontrast, in doubles that are rounded after each operation.
void Stretch(const Histogram& histogram, Table& table) {
  const int low = Lowest(histogram), high = Highest(histogram);
  if (high <= low) return SetIdentity(table);
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  for (int v = 0; v < 256; ++v) {
    table[v] = static_cast<uint8_t>(std::clamp(static_cast<int>(v * scale + offset), 0, 255));
  }
}

// Pillow's ImageOps.equalize.
void Flatten(const Histogram& histogram, Table& table) {
  uint64_t total = 0;
  for (const uint64_t count : histogram) total += count;
  // Without the highest value. With a single value, the step is zero too.
  const uint64_t step = (total - histogram[Highest(histogram)]) / 255;
  if (step == 0) return SetIdentity(table);
  uint64_t below = step / 2;
  for (int v = 0; v < 256; ++v) {
    table[v] = static_cast<uint8_t>(std::min<uint64_t>(below / step, 255));
    below += histogram[v];
  }
}

void LookUpGray(const ImageView& image, const Table& table) {
  const size_t bytes = image.bytes();
  for (size_t i = 0; i < bytes; ++i) image.data[i] = table[image.data[i]];
}

template <typename Fill>
void ReplaceByHistogram(const ImageView& image, Fill fill) {
  Histogram histograms[3] = {};
  Table tables[3];
  if (image.channels == 1) {
    Count<1>(image, histograms);
    fill(histograms[0], tables[0]);
    return LookUpGray(image, tables[0]);
  }
  Count<3>(image, histograms);
  for (int c = 0; c < 3; ++c) fill(histograms[c], tables[c]);
  BestColorKernels().look_up(image.data, image.pixels(), tables);
}

}  // namespace

void Invert(const ImageView& image) { BestColorKernels().invert(image.data, image.bytes()); }

void Posterize(const ImageView& image, int bits) {
  const uint8_t mask = static_cast<uint8_t>(0xFF00 >> bits);
  BestColorKernels().mask(image.data, image.bytes(), mask);
}

void Solarize(const ImageView& image, double threshold) {
  // The first value that isn't below; every value if the threshold is not a number.
  int first = 0;
  while (first < 256 && first < threshold) ++first;
  BestColorKernels().solarize(image.data, image.bytes(), first);
}

void AutoContrast(const ImageView& image) { ReplaceByHistogram(image, Stretch); }

void Equalize(const ImageView& image) { ReplaceByHistogram(image, Flatten); }

}  // namespace penstock::augment
