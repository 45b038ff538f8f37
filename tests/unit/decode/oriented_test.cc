// Whole rows with EXIF orientation and in gray. Crops are drawn and cut in the upright image.
#include <gtest/gtest.h>

#include <algorithm>

#include "server/decode/core/placement.h"
#include "server/decode/decoder.h"
#include "server/decode/gray.h"
#include "tests/support/files/jpeg_maker.h"
#include "tests/support/files/png_maker.h"
#include "tests/support/files/reference_resize.h"

namespace penstock::decode {
namespace {

using base::Fault;
using testing::Image;
using File = std::vector<std::byte>;

constexpr PngHeader kHeader = {.width = 53, .height = 34, .depth = 8, .color = PngHeader::kRgb};
const std::vector<uint16_t> kSamples = testing::MakePngSamples(kHeader);

File Oriented(int tag) {
  const int exif[] = {'M', 'M', 0, '*', 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, tag, 0, 0};
  File block;
  for (const int byte : exif) block.push_back(static_cast<std::byte>(byte));
  return testing::WithPngChunk(testing::MakePng(kHeader, kSamples), "eXIf", block);
}

// The upright image by EXIF's definition, which says where row 0 and column 0 of the stored image
// appear.
Image Seen(int tag) {
  const bool turned = tag >= 5;
  Image image{turned ? kHeader.height : kHeader.width, turned ? kHeader.width : kHeader.height, {}};
  const bool row0_at_bottom_or_right = tag == 3 || tag == 4 || tag == 6 || tag == 7;
  const bool column0_at_right_or_bottom = tag == 2 || tag == 3 || tag == 7 || tag == 8;
  for (uint32_t y = 0; y < image.height; ++y) {
    for (uint32_t x = 0; x < image.width; ++x) {
      uint32_t row = turned ? x : y, column = turned ? y : x;
      if (row0_at_bottom_or_right) row = kHeader.height - 1 - row;
      if (column0_at_right_or_bottom) column = kHeader.width - 1 - column;
      const uint16_t* pixel = &kSamples[3 * (row * kHeader.width + column)];
      image.pixels.insert(image.pixels.end(), pixel, pixel + 3);
    }
  }
  return image;
}

Image Grayed(Image image) {
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    const uint8_t* p = &image.pixels[i];
    const auto luma =
        static_cast<uint8_t>((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 32768u) >> 16);
    std::fill_n(&image.pixels[i], 3, luma);
  }
  return image;
}

std::vector<uint8_t> Expected(const Image& image, const Spec& spec, const DrawKey& key) {
  const Draw draw = DrawFor(spec, key, image.width, image.height);
  const Placement placement = Place(spec, draw);
  const Box& box = draw.crop;
  Image row = testing::Resize(testing::Crop(image, box.x, box.y, box.width, box.height),
                              placement.x.out, placement.y.out);
  if (draw.flip) row = testing::Flip(row);
  if (spec.color == Color::kRgb) return row.pixels;
  std::vector<uint8_t> gray;
  for (size_t i = 0; i < row.pixels.size(); i += 3) gray.push_back(row.pixels[i]);
  return gray;
}

class OrientedTest : public ::testing::TestWithParam<int> {
 protected:
  void ExpectRows(const File& file, const Image& image, Spec spec) {
    spec.height = 21;
    spec.width = 17;
    spec.flip_probability = 0.5;
    Decoder decoder{SampleLimits()};
    for (uint64_t sample = 0; sample < 12; ++sample) {
      const DrawKey key{2, 0, sample};
      std::vector<std::byte> row(RowBytes(spec));
      ASSERT_EQ(decoder.DecodeRow(file, spec, key, row), Fault::kNone);
      const std::vector<uint8_t> expected = Expected(image, spec, key);
      ASSERT_EQ(row.size(), expected.size());
      ASSERT_TRUE(std::equal(row.begin(), row.end(), std::as_bytes(std::span(expected)).begin()))
          << "sample " << sample;
    }
  }
};

TEST_P(OrientedTest, IsIgnoredUnlessAskedFor) { ExpectRows(Oriented(GetParam()), Seen(1), {}); }

TEST_P(OrientedTest, IsAppliedBeforeAnythingIsDrawn) {
  ExpectRows(Oriented(GetParam()), Seen(GetParam()), {.exif = Exif::kApply});
}

TEST_P(OrientedTest, AGrayRowIsResizedGray) {
  ExpectRows(Oriented(GetParam()), Grayed(Seen(GetParam())),
             {.color = Color::kGray, .exif = Exif::kApply});
}

INSTANTIATE_TEST_SUITE_P(Tags, OrientedTest, ::testing::Range(1, 9));

TEST(GrayTest, IsPillowsLumaToTheLastBit) {
  uint8_t pixels[] = {255, 0, 0, 9, 0, 255, 0, 9, 0, 0, 255, 9, 10, 20, 30, 9, 77, 77, 77, 9};
  MakeGray(pixels, 5);
  const uint8_t wanted[] = {76, 150, 29, 18, 77};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(pixels[4 * i], wanted[i]);
    EXPECT_EQ(pixels[4 * i + 2], wanted[i]);
  }
}

}  // namespace
}  // namespace penstock::decode
