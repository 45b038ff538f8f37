// Every variant of the kernels that this CPU supports computes the same bytes, and hue equals
// Pillow's arithmetic for every colour.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "server/augment/color/all_kernels.h"

namespace penstock::augment {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes Noise(size_t bytes) {
  std::mt19937 random(11);
  Bytes noise(bytes);
  for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random());
  return noise;
}

// The results of all kernels on one image, behind one another.
Bytes Results(const ColorKernels& kernels, const Bytes& rgb) {
  const size_t pixels = rgb.size() / 3;
  Bytes all;
  const auto add = [&](auto change) {
    Bytes changed = rgb;
    change(changed.data());
    all.insert(all.end(), changed.begin(), changed.end());
  };
  add([&](uint8_t* at) { kernels.invert(at, rgb.size()); });
  add([&](uint8_t* at) { kernels.mask(at, rgb.size(), 0xE0); });
  for (const int threshold : {0, 1, 200, 255, 256}) {
    add([&](uint8_t* at) { kernels.solarize(at, rgb.size(), threshold); });
  }
  for (const float factor : {-2.5f, 0.0f, 0.3f, 0.9999999f, 1.0f, 1.7f, 1e6f}) {
    add([&](uint8_t* at) { kernels.blend(at, rgb.size(), 97, factor); });
    add([&](uint8_t* at) { kernels.saturate(at, pixels, factor); });
  }
  add([&](uint8_t* at) { kernels.make_gray(at, pixels); });
  for (const uint8_t shift : {0, 1, 100, 255}) {
    add([&](uint8_t* at) { kernels.shift_hue(at, pixels, shift); });
  }
  uint8_t tables[3][256];
  for (int v = 0; v < 256; ++v) {
    tables[0][v] = static_cast<uint8_t>(v * 7 + 3);
    tables[1][v] = static_cast<uint8_t>(255 - v);
    tables[2][v] = static_cast<uint8_t>(v ^ 0x55);
  }
  add([&](uint8_t* at) { kernels.look_up(at, pixels, tables); });
  for (uint64_t sum = kernels.sum_luma(rgb.data(), pixels); sum > 0; sum /= 256) {
    all.push_back(static_cast<uint8_t>(sum));
  }
  return all;
}

TEST(ColorKernelsTest, AllVariantsComputeTheSameBytes) {
  for (const size_t pixels : {1, 2, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1000}) {
    const Bytes rgb = Noise(3 * pixels);
    const Bytes wanted = Results(kPortableColorKernels, rgb);
    for (const ColorKernels* kernels : AllColorKernels()) {
      if (!kernels->supported()) continue;
      EXPECT_TRUE(Results(*kernels, rgb) == wanted) << kernels->name << ", " << pixels;
    }
  }
}

TEST(ColorKernelsTest, AllVariantsSharpenAlike) {
  for (const size_t bytes : {9, 12, 33, 66, 201, 1500}) {
    const Bytes rows = Noise(3 * bytes);
    for (const size_t channels : {1, 3}) {
      for (const float factor : {-1.0f, 0.5f, 3.0f}) {
        Bytes wanted(bytes), found(bytes);
        const auto sharpen = [&](const ColorKernels& kernels, Bytes& out) {
          kernels.sharpen({rows.data(), rows.data() + bytes, rows.data() + 2 * bytes, out.data(),
                           bytes, channels, factor});
        };
        sharpen(kPortableColorKernels, wanted);
        for (const ColorKernels* kernels : AllColorKernels()) {
          if (!kernels->supported()) continue;
          sharpen(*kernels, found);
          EXPECT_TRUE(found == wanted) << kernels->name << ", " << bytes;
        }
      }
    }
  }
}

// Pillow's arithmetic as it defines it, with its types. The hue is turned in between.
void TurnLikePillow(uint8_t* pixel, int shift) {
  const int r = pixel[0], g = pixel[1], b = pixel[2];
  const int most = std::max({r, g, b}), least = std::min({r, g, b});
  uint8_t hue = 0, saturation = 0;
  if (most > least) {
    const float range = static_cast<float>(most - least);
    const float rc = (most - r) / range, gc = (most - g) / range, bc = (most - b) / range;
    float h = r == most   ? bc - gc
              : g == most ? static_cast<float>(2.0 + rc - bc)
                          : static_cast<float>(4.0 + gc - rc);
    h = static_cast<float>(std::fmod(h / 6.0 + 1.0, 1.0));
    hue = static_cast<uint8_t>(h * 255.0);
    saturation = static_cast<uint8_t>(range / static_cast<float>(most) * 255.0);
  }
  hue = static_cast<uint8_t>(hue + shift);
  const int sector = static_cast<int>(std::floor(hue * 6.0 / 255.0));
  const float f = static_cast<float>(hue * 6.0 / 255.0 - sector);
  const float s = static_cast<float>(saturation / 255.0);
  const uint8_t p = static_cast<uint8_t>(std::round(most * (1.0 - s)));
  const uint8_t q = static_cast<uint8_t>(std::round(most * (1.0 - s * f)));
  const uint8_t t = static_cast<uint8_t>(std::round(most * (1.0 - s * (1.0 - f))));
  const uint8_t v = static_cast<uint8_t>(most);
  const uint8_t turned[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  std::copy_n(turned[sector % 6], 3, pixel);
}

TEST(ColorKernelsTest, HueEqualsPillowsArithmeticForEveryColor) {
  Bytes original(3 * 65536);
  for (const int shift : {0, 77}) {
    for (int red = 0; red < 256; ++red) {
      for (int i = 0; i < 65536; ++i) {
        original[3 * i] = static_cast<uint8_t>(red);
        original[3 * i + 1] = static_cast<uint8_t>(i >> 8);
        original[3 * i + 2] = static_cast<uint8_t>(i);
      }
      Bytes wanted = original;
      for (int i = 0; i < 65536; ++i) TurnLikePillow(&wanted[3 * i], shift);
      for (const ColorKernels* kernels : AllColorKernels()) {
        if (!kernels->supported()) continue;
        Bytes found = original;
        kernels->shift_hue(found.data(), 65536, static_cast<uint8_t>(shift));
        ASSERT_TRUE(found == wanted) << kernels->name << ", shift " << shift << ", red " << red;
      }
    }
  }
}

}  // namespace
}  // namespace penstock::augment
