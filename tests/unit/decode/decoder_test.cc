#include "server/decode/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "server/decode/core/placement.h"
#include "tests/bench/bare.h"
#include "tests/support/files/reference_resize.h"
#include "tests/support/files/slow_jpeg.h"

namespace penstock::decode {
namespace {

using base::Fault;
using testing::DecodeWhole;
using testing::Image;
using testing::JpegOptions;
using testing::MakeJpeg;

std::vector<std::byte> Bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The row that DecodeRow must return: decodes the whole image, then crops and resizes by the
// definitions.
std::vector<uint8_t> Expected(const std::vector<std::byte>& file, const Spec& spec,
                              const DrawKey& key) {
  const Image image = DecodeWhole(file);
  const Draw draw = DrawFor(spec, key, image.width, image.height);
  const Placement placement = Place(spec, draw);
  const Box& box = draw.crop;
  const Image resized = testing::Resize(testing::Crop(image, box.x, box.y, box.width, box.height),
                                        placement.x.out, placement.y.out, spec.interpolation);
  const Image row = testing::Crop(resized, placement.x.first, placement.y.first, placement.x.count,
                                  placement.y.count);
  return draw.flip ? testing::Flip(row).pixels : row.pixels;
}

class DecoderTest : public ::testing::Test {
 protected:
  Fault Decode(const std::vector<std::byte>& file, const DrawKey& key = {}) {
    row_.assign(RowBytes(spec_), std::byte{0});
    return decoder_.DecodeRow(file, spec_, key, row_);
  }

  void ExpectExact(const std::vector<std::byte>& file) {
    for (uint64_t sample = 0; sample < 6; ++sample) {
      const DrawKey key{3, 1, sample};
      ASSERT_EQ(Decode(file, key), Fault::kNone);
      const std::vector<uint8_t> expected = Expected(file, spec_, key);
      ASSERT_TRUE(std::equal(row_.begin(), row_.end(), std::as_bytes(std::span(expected)).begin()))
          << "sample " << sample;
    }
  }

  Spec spec_ = {.height = 31, .width = 45, .flip_probability = 0.5};
  Decoder decoder_{SampleLimits{.max_bytes = 1 << 20, .max_pixels = 100'000}};
  std::vector<std::byte> row_;
};

TEST_F(DecoderTest, NoBytesAreEmpty) { EXPECT_EQ(Decode({}), Fault::kEmpty); }

TEST_F(DecoderTest, TextIsNotAnImage) {
  EXPECT_EQ(Decode(Bytes("This is a caption.")), Fault::kNotAnImage);
}

TEST_F(DecoderTest, WhatIsKnownButNotDecodedIsUnsupported) {
  EXPECT_EQ(Decode(Bytes("\xff\x0a and so on")), Fault::kUnsupported);
  EXPECT_EQ(Decode(Bytes("P7 WIDTH 30 and so on")), Fault::kUnsupported);
}

TEST_F(DecoderTest, MoreScansThanTheLimitAreNotDecoded) {
  const std::vector<std::byte> file = testing::MakeSlowJpeg(64);
  EXPECT_EQ(Decode(file), Fault::kTooManyScans);
  EXPECT_EQ(Decode(MakeJpeg(20, 20, {.components = 4, .progressive = true})), Fault::kNone);

  Decoder patient{SampleLimits{.max_scans = 100'000}};
  EXPECT_EQ(patient.DecodeRow(file, spec_, {}, row_), Fault::kNone);
}

TEST_F(DecoderTest, TwelveBitsASampleAreUnsupported) {
  std::vector<std::byte> file = MakeJpeg(20, 20);
  const std::byte frame[] = {std::byte{0xFF}, std::byte{0xC0}};
  auto at = std::search(file.begin(), file.end(), std::begin(frame), std::end(frame));
  at[4] = std::byte{12};

  EXPECT_EQ(Decode(file), Fault::kUnsupported);
}

TEST_F(DecoderTest, MoreBytesThanTheLimitAreNotLookedAt) {
  EXPECT_EQ(Decode(std::vector<std::byte>((1 << 20) + 1)), Fault::kTooManyBytes);
}

TEST_F(DecoderTest, MorePixelsThanTheLimitAreNotDecoded) {
  EXPECT_EQ(Decode(MakeJpeg(317, 316)), Fault::kTooManyPixels);
  EXPECT_EQ(Decode(MakeJpeg(400, 250)), Fault::kNone);
}

TEST_F(DecoderTest, AHeaderThatEndsTooEarlyIsTruncated) {
  std::vector<std::byte> file = MakeJpeg(20, 20);
  file.resize(100);

  EXPECT_EQ(Decode(file), Fault::kTruncated);
}

TEST_F(DecoderTest, AFileWithoutTablesIsCorruptWhateverWasDecodedBefore) {
  std::vector<std::byte> file = MakeJpeg(20, 20);
  std::vector<std::byte> bare = file;
  const std::byte table[] = {std::byte{0xFF}, std::byte{0xDB}};
  for (auto at = bare.begin();
       (at = std::search(at, bare.end(), std::begin(table), std::end(table))) != bare.end();) {
    at = bare.erase(at, at + 69);  // the marker, its length, the table's number, 64 values
  }

  EXPECT_EQ(Decode(bare), Fault::kCorrupt);
  EXPECT_EQ(Decode(file), Fault::kNone);
  EXPECT_EQ(Decode(bare), Fault::kCorrupt);
}

TEST_F(DecoderTest, EveryInterpolationIsExact) {
  for (uint32_t number = 0; number < base::kInterpolations; ++number) {
    spec_.interpolation = static_cast<base::Interpolation>(number);
    spec_.geometry = Geometry::kRandomResizedCrop;
    ExpectExact(MakeJpeg(157, 119, {}));
    ExpectExact(MakeJpeg(7, 3, {}));
    spec_.geometry = Geometry::kResizeCenterCrop;
    spec_.resize = 50;
    ExpectExact(MakeJpeg(157, 119, {}));
  }
}

class SamplingTest : public DecoderTest,
                     public ::testing::WithParamInterface<std::tuple<int, int, bool, int>> {
 protected:
  JpegOptions Options() const {
    const auto [horizontal, vertical, progressive, restart_rows] = GetParam();
    return {.horizontal = horizontal,
            .vertical = vertical,
            .progressive = progressive,
            .restart_rows = restart_rows};
  }
};

TEST_P(SamplingTest, CropsAreExact) { ExpectExact(MakeJpeg(157, 119, Options())); }

TEST_P(SamplingTest, TinyImagesAreExact) {
  spec_.height = 5;
  spec_.width = 6;
  for (uint32_t width = 1; width <= 5; ++width) {
    for (uint32_t height : {1u, 2u, 9u, 17u}) ExpectExact(MakeJpeg(width, height, Options()));
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, SamplingTest,
                         ::testing::Combine(::testing::Values(1, 2, 4), ::testing::Values(1, 2),
                                            ::testing::Bool(), ::testing::Values(0, 1)));

TEST_F(DecoderTest, GrayIsRepeatedInEachChannel) {
  ExpectExact(MakeJpeg(100, 80, {.components = 1}));
  ExpectExact(MakeJpeg(100, 80, {.components = 1, .progressive = true}));
}

TEST_F(DecoderTest, FourInksAreMixedWithOrWithoutAdobesMarker) {
  for (const bool progressive : {false, true}) {
    const JpegOptions cmyk = {.components = 4, .progressive = progressive};
    JpegOptions ycck = cmyk, unmarked = cmyk;
    ycck.ycck = true;
    unmarked.adobe_marker = false;
    for (const JpegOptions& options : {cmyk, ycck, unmarked}) {
      ExpectExact(MakeJpeg(101, 83, options));
    }
  }
}

TEST_F(DecoderTest, ResizeAndCenterCropIsExact) {
  for (const auto& [width, height] : {std::pair(157u, 119u), {40u, 90u}, {64u, 64u}, {1u, 7u}}) {
    spec_ = {.geometry = Geometry::kResizeCenterCrop, .height = 40, .width = 33, .resize = 48};
    ExpectExact(MakeJpeg(width, height, {.horizontal = 2, .vertical = 2}));
  }
}

TEST_F(DecoderTest, BareDecodingTakesTheSameFiles) {
  BareDecoder bare;
  const std::vector<std::byte> file = MakeJpeg(157, 119, {.horizontal = 2});

  EXPECT_EQ(bare.DecodeCrop(file, spec_, {1, 2, 3}), Fault::kNone);
  EXPECT_EQ(bare.DecodeWhole(file), Fault::kNone);
  EXPECT_EQ(bare.DecodeWhole(Bytes("no JPEG")), Fault::kCorrupt);
  EXPECT_EQ(bare.DecodeCrop(file, {.geometry = Geometry::kResizeCenterCrop}, {}), Fault::kNone);
}

}  // namespace
}  // namespace penstock::decode
