#include "client/examples/photograph.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace penstock::examples {
namespace {

// Values are fixed point with 8 fractional bits, so that the bytes do not depend on a compiler's
// floating point.
constexpr int kFraction = 8;
// Amplitudes of the noise, for cells of 128 pixels down to cells of 2.
constexpr std::array kAmplitudes = {48, 30, 20, 15, 12, 12, 14};
constexpr int kShapes = 7;

struct Colour {
  std::array<int, 3> channel{};
};

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // Uniform in [low, high].
  int Between(int low, int high) {
    return low + static_cast<int>(Mix(++state_) % static_cast<uint64_t>(high - low + 1));
  }
  Colour AnyColour() { return {{Between(20, 235), Between(20, 235), Between(20, 235)}}; }

 private:
  uint64_t state_;
};

// Noise at one scale: random heights on a grid, interpolated bilinearly.
class Octave {
 public:
  Octave(Random& random, uint32_t width, uint32_t height, int log2_cell, int amplitude)
      : log2_cell_(log2_cell), columns_((width >> log2_cell) + 2) {
    heights_.resize(size_t{columns_} * ((height >> log2_cell) + 2));
    for (int& value : heights_) value = random.Between(-amplitude, amplitude) * (1 << kFraction);
  }

  // Adds the noise of row y to `row`.
  void AddRow(uint32_t y, std::vector<int>& row) const {
    const int cell = 1 << log2_cell_;
    const int below = static_cast<int>(y) & (cell - 1);
    const int* top = &heights_[size_t{y >> log2_cell_} * columns_];
    const int* bottom = top + columns_;
    for (size_t x = 0; x < row.size(); ++x) {
      const size_t column = x >> log2_cell_;
      const int right = static_cast<int>(x) & (cell - 1);
      const int left_edge = top[column] * (cell - below) + bottom[column] * below;
      const int right_edge = top[column + 1] * (cell - below) + bottom[column + 1] * below;
      const int64_t sum = int64_t{left_edge} * (cell - right) + int64_t{right_edge} * right;
      row[x] += static_cast<int>(sum >> (2 * log2_cell_));
    }
  }

 private:
  int log2_cell_;
  uint32_t columns_;
  std::vector<int> heights_;
};

// A shape with an outline: an ellipse or a box of one colour.
struct Shape {
  int x, y, half_width, half_height;
  bool round;
  Colour colour;

  bool Covers(int px, int py) const {
    const int64_t dx = px - x, dy = py - y, w = half_width, h = half_height;
    if (!round) return dx * dx <= w * w && dy * dy <= h * h;
    return dx * dx * h * h + dy * dy * w * w <= w * w * h * h;
  }
};

Shape AnyShape(Random& random, int width, int height) {
  return {.x = random.Between(0, width),
          .y = random.Between(0, height),
          .half_width = random.Between(width / 20, width / 4),
          .half_height = random.Between(height / 20, height / 4),
          .round = random.Between(0, 2) > 0,
          .colour = random.AnyColour()};
}

// The scene's light in row y: a gradient from the colour at the top to the one at the bottom.
Colour Light(const Colour& top, const Colour& bottom, int y, int height) {
  Colour light;
  for (size_t c = 0; c < 3; ++c)
    light.channel[c] = (top.channel[c] * (height - y) + bottom.channel[c] * y) / height;
  return light;
}

uint8_t Clamp(int value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); }

}  // namespace

uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

Photograph DrawPhotograph(uint64_t seed) {
  Random random(Mix(seed));
  const bool portrait = random.Between(0, 3) == 0;
  const int longer = random.Between(430, 570), shorter = random.Between(310, 440);
  const int width = portrait ? shorter : longer, height = portrait ? longer : shorter;
  Photograph picture{.width = static_cast<uint32_t>(width),
                     .height = static_cast<uint32_t>(height)};
  picture.rgb.resize(size_t{3} * picture.width * picture.height);

  const Colour sky = random.AnyColour(), ground = random.AnyColour();
  std::vector<Shape> shapes;
  for (int i = 0; i < kShapes; ++i) shapes.push_back(AnyShape(random, width, height));
  std::vector<Octave> octaves;
  int log2_cell = kAmplitudes.size();
  for (const int amplitude : kAmplitudes)
    octaves.emplace_back(random, picture.width, picture.height, log2_cell--, amplitude);

  std::vector<int> noise(picture.width);
  for (int y = 0; y < height; ++y) {
    std::fill(noise.begin(), noise.end(), 0);
    for (const Octave& octave : octaves) octave.AddRow(static_cast<uint32_t>(y), noise);
    const Colour light = Light(sky, ground, y, height);
    for (int x = 0; x < width; ++x) {
      Colour colour = light;
      for (const Shape& shape : shapes)
        if (shape.Covers(x, y)) colour = shape.colour;
      const int bright = (noise[static_cast<size_t>(x)] >> kFraction) + random.Between(-3, 3);
      uint8_t* pixel =
          &picture
               .rgb[3 * (size_t{picture.width} * static_cast<size_t>(y) + static_cast<size_t>(x))];
      for (size_t c = 0; c < 3; ++c) pixel[c] = Clamp(colour.channel[c] + bright);
    }
  }
  return picture;
}

}  // namespace penstock::examples
