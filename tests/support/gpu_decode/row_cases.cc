#include "tests/support/gpu_decode/row_cases.h"

#include <algorithm>

#include "server/decode/resize.h"

namespace penstock::testing {
namespace {

using base::Interpolation;

uint32_t Between(std::mt19937& random, uint32_t least, uint32_t most) {
  return least + random() % (most - least + 1);
}

// Small numbers as often as large ones.
uint32_t Side(std::mt19937& random, uint32_t most) {
  const uint32_t limit = random() % 3 == 0 ? std::min(most, 40u) : most;
  return random() % 9 == 0 ? 1 : Between(random, 1, limit);
}

resample::Axis MakeAxis(std::mt19937& random, uint32_t in, uint32_t max_out) {
  const uint32_t out = random() % 11 == 0 ? std::min(in, max_out) : Side(random, max_out);
  if (random() % 3 != 0) return {in, out, 0, out};
  const uint32_t first = Between(random, 0, out - 1);
  return {in, out, first, Between(random, 1, out - first)};
}

}  // namespace

std::vector<uint8_t> MakePixels(uint32_t width, uint32_t height, uint32_t seed) {
  std::vector<uint8_t> pixels(size_t{3} * width * height);
  std::mt19937 random(seed);
  for (size_t i = 0; i < pixels.size(); ++i) {
    const bool edge = (i / 3 / 5 + i / 3 / width / 3) % 2 == 0;
    pixels[i] = static_cast<uint8_t>(edge ? random() % 256 : random() % 2 * 255);
  }
  return pixels;
}

RowCase MakeRowCase(std::mt19937& random, const RowCaseLimits& limits) {
  RowCase made;
  gpu_decode::JpegRow& row = made.row;
  row.width = Side(random, limits.max_side);
  row.height = Side(random, limits.max_side);
  if (uint64_t{row.width} * row.height > limits.max_pixels) row.height = 1;
  row.left = Between(random, 0, row.width - 1);
  row.top = Between(random, 0, row.height - 1);
  row.x = MakeAxis(random, Between(random, 1, row.width - row.left), limits.max_out);
  row.y = MakeAxis(random, Between(random, 1, row.height - row.top), limits.max_out);
  row.flip = random() % 2 == 0;
  row.interpolation = static_cast<Interpolation>(random() % base::kInterpolations);
  made.pixels = MakePixels(row.width, row.height, random());
  return made;
}

std::vector<uint8_t> ExpectedRow(const RowCase& row_case) {
  const gpu_decode::JpegRow& row = row_case.row;
  std::vector<uint8_t> made(size_t{3} * row.x.count * row.y.count);
  const augment::ConstImageView from(row_case.pixels.data(), row.width, row.height, 3);
  const augment::ImageView to = {made.data(), row.x.count, row.y.count, 3};
  decode::ImageResizer resizer;
  resizer.Resize(
      from, {{row.left, row.top, row.x.in, row.y.in}, row.x, row.y, row.flip, row.interpolation},
      to);
  return made;
}

}  // namespace penstock::testing
