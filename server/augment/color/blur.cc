// Two passes, one along each axis, are fast but round in another way than torch, which adds one
// product after another with a fused multiply-add. Both sums differ by a margin at most, which is
// computed from the weights. Where the fast sum lies so close to half an integer that the margin
// could change the rounding, the slow sum decides. That happens for less than a hundredth of the
// bytes, so the result is exact, and fast.
#include "server/augment/color/blur.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "server/augment/color/all_kernels.h"
#include "server/augment/color/blur_kernels.h"

namespace penstock::augment {
namespace {

constexpr double kUnitRoundoff = 1.0 / (1 << 24);  // of floats
constexpr double kHighest = 255.0;

// The weights of one axis, without those at both ends that are zero: products with them change no
// sum.
class Axis {
 public:
  Axis(int size, double sigma) : size_(static_cast<size_t>(size)) {
    const std::span<float> all(weights_.data(), size_);
    GaussianWeights(sigma, all);
    while (size_ > 1 && all[first_] == 0.0f) {
      ++first_;
      size_ -= 2;
    }
  }

  std::span<const float> weights() const { return {weights_.data() + first_, size_}; }
  uint32_t radius() const { return static_cast<uint32_t>(size_ / 2); }

 private:
  std::array<float, kMaxBlurSize> weights_;
  size_t first_ = 0;
  size_t size_;
};

// The most by which the sum of two passes differs from torch's. Torch's error at each addition is
// at most half a unit in the last place of the sum so far, and at most the product that is added.
// The two passes, whose additions are at most two roundings each, and the weights' products add
// less than a roundoff of the highest value for each weight of both axes, and four more.
double Margin(const Axis& x, const Axis& y) {
  double error = 0.0, sum = 0.0;
  for (const float down : y.weights()) {
    for (const float across : x.weights()) {
      const double weight = static_cast<double>(down) * across;
      sum += weight;
      error += std::min(kUnitRoundoff * sum, weight);
    }
  }
  const double passes =
      kUnitRoundoff * static_cast<double>(x.weights().size() + y.weights().size() + 4);
  return 1.01 * kHighest * (error + passes);
}

// Where a position outside is reflected to. **Requires**: it is less than `size` outside.
uint32_t Reflected(int64_t position, uint32_t size) {
  const int64_t last = int64_t{size} - 1;
  if (position < 0) return static_cast<uint32_t>(-position);
  return static_cast<uint32_t>(position > last ? 2 * last - position : position);
}

// A blur of one image, row by row. It keeps as many rows as the kernel is high: as floats with
// their reflected borders, and after the pass across.
class Blurring {
 public:
  Blurring(const BlurKernels& kernels, const ImageView& image, const Axis& x, const Axis& y,
           Scratch& scratch)
      : image_(image), x_(x), y_(y), kernels_(kernels), bytes_(image.row_bytes()) {
    border_ = size_t{x.radius()} * image.channels;
    padded_floats_ = RoundedUp(bytes_ + 2 * border_ + kBlurSlack);
    floats_ = RoundedUp(bytes_ + kBlurSlack);
    const size_t rows = y.weights().size(), taps = x.weights().size() * rows;
    const size_t all = rows * (padded_floats_ + floats_) + floats_ + RoundedUp(taps);
    padded_ = reinterpret_cast<float*>(scratch.Reserve(all * sizeof(float) + bytes_));
    across_ = padded_ + rows * padded_floats_;
    sums_ = across_ + rows * floats_;
    weights_ = sums_ + floats_;
    near_ = reinterpret_cast<uint8_t*>(weights_ + RoundedUp(taps));
    // The vectors of the kernels read past the rows; whatever is there changes no pixel, but it has
    // to be initialised.
    std::fill(padded_, weights_, 0.0f);
    float* weight = weights_;
    for (const float down : y.weights()) {
      for (const float across : x.weights()) *weight++ = down * across;
    }
    margin_ = static_cast<float>(Margin(x, y));
  }

  void Run() {
    uint32_t read = 0;
    for (uint32_t row = 0; row < image_.height; ++row) {
      const uint64_t end = std::min<uint64_t>(image_.height, uint64_t{row} + y_.radius() + 1);
      while (read < end) Read(read++);
      Write(row);
    }
  }

 private:
  static size_t RoundedUp(size_t floats) { return (floats + 15) / 16 * 16; }

  float* PaddedRow(uint32_t row) { return padded_ + row % y_.weights().size() * padded_floats_; }
  float* AcrossRow(uint32_t row) { return across_ + row % y_.weights().size() * floats_; }

  void Read(uint32_t row) {
    float* padded = PaddedRow(row);
    kernels_.widen(image_.row(row), bytes_, padded + border_);
    const uint32_t channels = image_.channels;
    for (int64_t x = 1; x <= x_.radius(); ++x) {
      const float* left = padded + border_ + size_t{Reflected(-x, image_.width)} * channels;
      const int64_t outside = int64_t{image_.width} - 1 + x;
      const float* right = padded + border_ + size_t{Reflected(outside, image_.width)} * channels;
      std::copy_n(left, channels, padded + border_ - static_cast<size_t>(x) * channels);
      std::copy_n(right, channels, padded + border_ + static_cast<size_t>(outside) * channels);
    }
    kernels_.across(padded, x_.weights().data(), x_.weights().size(), channels, bytes_,
                    AcrossRow(row));
  }

  void Write(uint32_t row) {
    const size_t rows = y_.weights().size();
    const float* padded[kMaxBlurSize];
    const float* across[kMaxBlurSize];
    for (size_t i = 0; i < rows; ++i) {
      const int64_t from = int64_t{row} + static_cast<int64_t>(i) - y_.radius();
      const uint32_t inside = Reflected(from, image_.height);
      padded[i] = PaddedRow(inside);
      across[i] = AcrossRow(inside);
    }
    kernels_.down(across, y_.weights().data(), rows, bytes_, sums_);
    kernels_.round(sums_, bytes_, margin_, image_.row(row), near_);
    Correct(padded, image_.row(row));
  }

  // Sums the bytes again that are near half an integer, several at a time.
  void Correct(const float* const* padded, uint8_t* out) {
    uint32_t at[kChains] = {};
    int count = 0;
    for (const uint8_t* found = near_; (found = NextNear(found)) != nullptr; ++found) {
      at[count++] = static_cast<uint32_t>(found - near_);
      if (count == kChains) {
        CorrectSome(padded, at, count, out);
        count = 0;
      }
    }
    if (count > 0) CorrectSome(padded, at, count, out);
  }

  const uint8_t* NextNear(const uint8_t* from) const {
    return static_cast<const uint8_t*>(
        std::memchr(from, 1, static_cast<size_t>(near_ + bytes_ - from)));
  }

  void CorrectSome(const float* const* padded, const uint32_t* at, int count, uint8_t* out) {
    float exact[kChains];
    kernels_.chain(padded, at, weights_, x_.weights().size(), y_.weights().size(), image_.channels,
                   exact);
    for (int i = 0; i < count; ++i) out[at[i]] = static_cast<uint8_t>(std::nearbyint(exact[i]));
  }

  const ImageView image_;
  const Axis& x_;
  const Axis& y_;
  const BlurKernels& kernels_;
  size_t bytes_;          // of a row
  size_t border_;         // floats beside a row
  size_t padded_floats_;  // of a row with its borders
  size_t floats_;         // of a row without
  float margin_;
  // Memory of the caller's scratch.
  float* padded_;
  float* across_;
  float* sums_;
  float* weights_;
  uint8_t* near_;
};

}  // namespace

void GaussianBlurWith(const BlurKernels& kernels, const ImageView& image, const Blur& blur,
                      Scratch& scratch) {
  const Axis x(blur.size_x, blur.sigma_x), y(blur.size_y, blur.sigma_y);
  Blurring(kernels, image, x, y, scratch).Run();
}

void GaussianBlur(const ImageView& image, const Blur& blur, Scratch& scratch) {
  GaussianBlurWith(BestBlurKernels(), image, blur, scratch);
}

}  // namespace penstock::augment
