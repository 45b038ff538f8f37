// Images in memory, resized and compared with the definition.
#include "server/decode/resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/files/reference_resize.h"

namespace penstock::decode {
namespace {

using augment::ConstImageView;
using augment::ImageView;
using base::Interpolation;
using penstock::testing::Crop;
using penstock::testing::Flip;
using penstock::testing::Image;

constexpr Interpolation kAll[] = {Interpolation::kNearest, Interpolation::kLanczos,
                                  Interpolation::kBilinear, Interpolation::kBicubic};

Image Noise(uint32_t width, uint32_t height) {
  std::mt19937 random(width * 7 + height);
  Image image{width, height, std::vector<uint8_t>(size_t{3} * width * height)};
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random());
  return image;
}

std::vector<uint8_t> RedOf(const Image& image) {
  std::vector<uint8_t> red(image.pixels.size() / 3);
  for (size_t i = 0; i < red.size(); ++i) red[i] = image.pixels[3 * i];
  return red;
}

// Of RGB if `image` has three channels, of its red channel as a gray image otherwise. The buffers
// have the exact sizes, so that the address sanitizer finds every byte too many.
std::vector<uint8_t> Resized(ImageResizer& resizer, const Image& image, uint32_t channels,
                             const Placement& placement) {
  const std::vector<uint8_t> from = channels == 3 ? image.pixels : RedOf(image);
  std::vector<uint8_t> to(size_t{channels} * placement.x.count * placement.y.count, 0xEE);
  resizer.Resize(ConstImageView(from.data(), image.width, image.height, channels), placement,
                 ImageView{to.data(), placement.x.count, placement.y.count, channels});
  return to;
}

Image Expected(const Image& image, const Placement& placement) {
  const Box& box = placement.crop;
  const Image resized = testing::Resize(Crop(image, box.x, box.y, box.width, box.height),
                                        placement.x.out, placement.y.out, placement.interpolation);
  const Image part =
      Crop(resized, placement.x.first, placement.y.first, placement.x.count, placement.y.count);
  return placement.flip ? Flip(part) : part;
}

void ExpectExact(ImageResizer& resizer, const Image& image, Placement placement) {
  for (const Interpolation interpolation : kAll) {
    placement.interpolation = interpolation;
    const Image expected = Expected(image, placement);
    EXPECT_TRUE(Resized(resizer, image, 3, placement) == expected.pixels)
        << "RGB, interpolation " << static_cast<int>(interpolation);
    EXPECT_TRUE(Resized(resizer, image, 1, placement) == RedOf(expected))
        << "gray, interpolation " << static_cast<int>(interpolation);
  }
}

// The box resized to the size, whole.
Placement Whole(const Box& box, uint32_t width, uint32_t height) {
  return {box, {box.width, width, 0, width}, {box.height, height, 0, height}, false, {}};
}

TEST(ImageResizerTest, ResizesTheWholeImage) {
  ImageResizer resizer;
  for (const auto& [width, height] : {std::pair{1u, 1u}, {90u, 1u}, {1u, 90u}, {64u, 47u}}) {
    for (const auto& [to_width, to_height] :
         {std::pair{1u, 1u}, {2u, 3u}, {width, height}, {width, 20u}, {20u, height}, {150u, 99u}}) {
      ExpectExact(resizer, Noise(width, height), Whole({0, 0, width, height}, to_width, to_height));
    }
  }
}

TEST(ImageResizerTest, ABoxIsCutOutFirst) {
  ImageResizer resizer;
  const Image image = Noise(80, 60);
  for (const Box box : {Box{0, 0, 10, 10}, {70, 50, 10, 10}, {79, 59, 1, 1}, {3, 4, 70, 50}}) {
    ExpectExact(resizer, image, Whole(box, 31, 27));
    ExpectExact(resizer, image, Whole(box, box.width, box.height));
  }
}

TEST(ImageResizerTest, OnlyAPartIsComputedAndFlipped) {
  ImageResizer resizer;
  const Image image = Noise(80, 60);
  for (const bool flip : {false, true}) {
    ExpectExact(resizer, image, {{5, 6, 70, 50}, {70, 40, 11, 13}, {50, 90, 70, 20}, flip, {}});
    ExpectExact(resizer, image, {{5, 6, 70, 50}, {70, 70, 11, 13}, {50, 50, 9, 20}, flip, {}});
  }
}

TEST(ImageResizerTest, TheShortFormResizesABoxToTheWholeOfTheView) {
  ImageResizer resizer;
  const Image image = Noise(40, 30);
  std::vector<uint8_t> to(size_t{3} * 17 * 19);

  resizer.Resize(ConstImageView(image.pixels.data(), 40, 30, 3), {2, 3, 30, 20},
                 ImageView{to.data(), 17, 19, 3}, Interpolation::kBicubic);

  EXPECT_TRUE(to ==
              testing::Resize(Crop(image, 2, 3, 30, 20), 17, 19, Interpolation::kBicubic).pixels);
}

}  // namespace
}  // namespace penstock::decode
