// PNG by its specification: headers, sample conversion, and arbitrary windows.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "server/decode/core/bytes.h"
#include "server/decode/png/png_header.h"
#include "server/decode/png/png_reader.h"
#include "server/decode/png/png_rows.h"
#include "tests/support/files/png_maker.h"

namespace penstock::decode {
namespace {

using base::Fault;
using testing::MakePng;
using testing::MakePngSamples;
using testing::WithPngChunk;
using Color = PngHeader::ColorType;
using File = std::vector<std::byte>;

PngHeader Header(uint32_t width, uint32_t height, Color color = PngHeader::kRgb, uint8_t depth = 8,
                 bool interlaced = false) {
  return {width, height, depth, color, interlaced};
}

File Make(const PngHeader& header) { return MakePng(header, MakePngSamples(header)); }

size_t Find(const File& file, std::string_view name) {
  const auto wanted = std::as_bytes(std::span(name));
  return std::search(file.begin(), file.end(), wanted.begin(), wanted.end()) - file.begin();
}

Fault ParseFault(const File& file) {
  PngHeader header;
  return ParsePngHeader(file, header);
}

TEST(PngHeaderTest, AFileThatEndsInItIsTruncated) {
  File file = Make(Header(3, 4));
  file.resize(32);
  EXPECT_EQ(ParseFault(file), Fault::kTruncated);
}

TEST(PngHeaderTest, NoSidesUnknownColorsAndImpossibleDepthsAreCorrupt) {
  const File file = Make(Header(3, 4));
  const auto with = [&file](size_t offset, int value) {
    File changed = file;
    changed[offset] = static_cast<std::byte>(value);
    return ParseFault(changed);
  };
  EXPECT_EQ(with(19, 0), Fault::kCorrupt);     // width 0
  EXPECT_EQ(with(16, 0x80), Fault::kCorrupt);  // width beyond 2³¹ - 1
  EXPECT_EQ(with(23, 0), Fault::kCorrupt);     // height 0
  EXPECT_EQ(with(24, 4), Fault::kCorrupt);     // colours of four bits
  EXPECT_EQ(with(25, 5), Fault::kCorrupt);     // a colour type that doesn't exist
  EXPECT_EQ(with(12, 'J'), Fault::kCorrupt);   // not the header's chunk
  EXPECT_EQ(with(11, 14), Fault::kCorrupt);    // the wrong length for it
}

TEST(PngHeaderTest, SaysWhatTheFileIs) {
  PngHeader header;
  ASSERT_EQ(ParsePngHeader(Make(Header(300, 7, PngHeader::kGrayAlpha, 16, true)), header),
            Fault::kNone);
  EXPECT_EQ(header.width, 300u);
  EXPECT_EQ(header.height, 7u);
  EXPECT_EQ(header.channels(), 2u);
  EXPECT_EQ(header.depth, 16);
  EXPECT_TRUE(header.interlaced);
}

TEST(PngChunksTest, OneThatSaysItIsLongerThanTheFileEndsTheWalk) {
  File file = WithPngChunk(Make(Header(3, 4)), "teSt", File(5));
  file[Find(file, "teSt") - 1] = std::byte{0xFF};
  std::vector<uint32_t> names;
  ForEachPngChunk(file, [&](const PngChunk& chunk) { names.push_back(chunk.name); });
  EXPECT_EQ(names, std::vector<uint32_t>{FourLetters("IHDR")});
}

TEST(PngChunksTest, AFileCutBehindItsDataIsToldFromOneWithoutItsEnd) {
  const File file = Make(Header(3, 4));
  const size_t end = Find(file, "IEND") - 4;
  File text(file.begin(), file.begin() + end);
  for (const int byte : std::vector<int>{0, 0, 0, 9, 't', 'E', 'X', 't', 'a', 0}) {
    text.push_back(static_cast<std::byte>(byte));
  }

  EXPECT_FALSE(PngIsCutBehindData(file));
  EXPECT_FALSE(PngIsCutBehindData({file.data(), end}));
  EXPECT_FALSE(PngIsCutBehindData({file.data(), end - 6}));
  EXPECT_TRUE(PngIsCutBehindData(text));
}

// The RGB of one pixel with these samples.
std::vector<int> Converted(Color color, uint8_t depth, std::vector<uint8_t> samples) {
  const PngRows rows(Header(1, 1, color, depth));
  EXPECT_EQ(rows.pixel_bytes(), samples.size());
  uint8_t pixel[4] = {};
  rows.Convert(samples.data(), 1, 1, pixel);
  return {pixel, pixel + 3};
}

TEST(PngRowsTest, GrayOfFewBitsIsSpreadToAllOfThem) {
  EXPECT_EQ(Converted(PngHeader::kGray, 1, {1}), (std::vector<int>{255, 255, 255}));
  EXPECT_EQ(Converted(PngHeader::kGray, 2, {2}), (std::vector<int>{170, 170, 170}));
  EXPECT_EQ(Converted(PngHeader::kGray, 4, {3}), (std::vector<int>{51, 51, 51}));
}

TEST(PngRowsTest, GrayOfSixteenBitsIsClipped) {
  EXPECT_EQ(Converted(PngHeader::kGray, 16, {0, 200}), (std::vector<int>{200, 200, 200}));
  EXPECT_EQ(Converted(PngHeader::kGray, 16, {1, 0}), (std::vector<int>{255, 255, 255}));
}

TEST(PngRowsTest, OtherColorsOfSixteenBitsLoseTheLowerEight) {
  EXPECT_EQ(Converted(PngHeader::kGrayAlpha, 16, {7, 200, 1, 1}), (std::vector<int>{7, 7, 7}));
  EXPECT_EQ(Converted(PngHeader::kRgb, 16, {1, 99, 2, 99, 3, 99}), (std::vector<int>{1, 2, 3}));
}

TEST(PngRowsTest, AlphaIsDropped) {
  EXPECT_EQ(Converted(PngHeader::kRgba, 8, {1, 2, 3, 0}), (std::vector<int>{1, 2, 3}));
}

TEST(PngRowsTest, IndicesBeyondThePaletteAreShadesOfGray) {
  PngRows rows(Header(1, 1, PngHeader::kPalette));
  const uint8_t entries[] = {10, 20, 30, 40, 50, 60};
  rows.SetPalette(entries, 2);
  const uint8_t indices[] = {1, 2};
  uint8_t pixels[8] = {};

  rows.Convert(indices, 2, 1, pixels);

  EXPECT_EQ(std::vector<int>(pixels, pixels + 3), (std::vector<int>{40, 50, 60}));
  EXPECT_EQ(std::vector<int>(pixels + 4, pixels + 7), (std::vector<int>{2, 2, 2}));
}

class PngReaderTest : public ::testing::TestWithParam<std::tuple<Color, int, bool>> {
 protected:
  PngHeader HeaderOf(uint32_t width, uint32_t height) const {
    const auto [color, depth, interlaced] = GetParam();
    return Header(width, height, color, static_cast<uint8_t>(depth), interlaced);
  }

  // The expected value of one channel, by definition.
  static uint8_t Wanted(const PngHeader& header, const uint16_t* pixel, int channel) {
    const int most = (1 << header.depth) - 1;
    switch (header.color) {
      case PngHeader::kPalette: {
        const int colors[] = {pixel[0], 255 - pixel[0], pixel[0] ^ 0x55};
        return static_cast<uint8_t>(colors[channel]);
      }
      case PngHeader::kGray:
        return static_cast<uint8_t>(header.depth == 16 ? std::min<int>(pixel[0], 255)
                                                       : pixel[0] * 255 / most);
      case PngHeader::kGrayAlpha:
        return static_cast<uint8_t>(pixel[0] >> (header.depth - 8));
      default:
        return static_cast<uint8_t>(pixel[channel] >> (header.depth - 8));
    }
  }

  void ExpectWindow(const PngHeader& header, const Box& window) {
    const std::vector<uint16_t> samples = MakePngSamples(header);
    const File file = MakePng(header, samples);
    ASSERT_EQ(reader_.ReadHeader(file), Fault::kNone);
    ASSERT_EQ(reader_.Begin(window), Fault::kNone);
    std::vector<uint8_t> row(reader_.row_bytes());
    uint8_t* const into = row.data();
    for (uint32_t y = 0; y < window.height; ++y) {
      ASSERT_EQ(reader_.ReadRows({&into, 1}), Fault::kNone);
      for (uint32_t x = 0; x < window.width; ++x) {
        const size_t at = size_t{window.y + y} * header.width + window.x + x;
        for (int channel = 0; channel < 3; ++channel) {
          ASSERT_EQ(row[reader_.window_offset() + 4 * x + channel],
                    Wanted(header, &samples[at * header.channels()], channel))
              << x << ", " << y << ", channel " << channel;
        }
      }
    }
    EXPECT_EQ(reader_.End(), Fault::kNone);
  }

  PngReader reader_;
};

TEST_P(PngReaderTest, EveryWindowIsAPartOfTheWhole) {
  const PngHeader header = HeaderOf(37, 23);
  for (const Box& window : {Box{0, 0, 37, 23}, Box{0, 0, 1, 1}, Box{36, 22, 1, 1},
                            Box{5, 3, 20, 11}, Box{0, 22, 37, 1}, Box{13, 0, 2, 23}}) {
    ExpectWindow(header, window);
  }
}

TEST_P(PngReaderTest, TinyImagesHaveEmptyPasses) {
  for (uint32_t width = 1; width <= 5; ++width) {
    for (uint32_t height = 1; height <= 5; ++height) {
      ExpectWindow(HeaderOf(width, height), {0, 0, width, height});
    }
  }
}

TEST_P(PngReaderTest, AFileCutBeforeItsLastRowIsTruncatedWhateverTheWindow) {
  const File file = Make(HeaderOf(13, 11));
  const size_t end = Find(file, "IEND") - 4;
  for (size_t cut = 33; cut + 12 < end; ++cut) {
    const File part(file.begin(), file.begin() + cut);
    ASSERT_EQ(reader_.ReadHeader(part), Fault::kNone);
    ASSERT_EQ(reader_.Begin({0, 0, 1, 1}), Fault::kTruncated) << cut << " of " << file.size();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, PngReaderTest,
    ::testing::Values(
        std::tuple(PngHeader::kGray, 1, false), std::tuple(PngHeader::kGray, 2, true),
        std::tuple(PngHeader::kGray, 8, true), std::tuple(PngHeader::kGray, 16, false),
        std::tuple(PngHeader::kPalette, 4, true), std::tuple(PngHeader::kPalette, 8, false),
        std::tuple(PngHeader::kGrayAlpha, 8, true), std::tuple(PngHeader::kGrayAlpha, 16, false),
        std::tuple(PngHeader::kRgb, 8, false), std::tuple(PngHeader::kRgb, 16, true),
        std::tuple(PngHeader::kRgba, 8, true), std::tuple(PngHeader::kRgba, 16, true)));

class PngDamageTest : public ::testing::Test {
 protected:
  Fault Read(const File& file) {
    PngReader reader;
    const Fault fault = reader.ReadHeader(file);
    return fault == Fault::kNone ? reader.Begin({0, 0, 2, 2}) : fault;
  }
  static void Spoil(File& file, size_t at) { file[at] ^= std::byte{1}; }

  const File file_ = Make(Header(13, 11));
};

TEST_F(PngDamageTest, AWrongSumBeforeTheDataIsCorrupt) {
  File header = file_, text = WithPngChunk(file_, "tEXt", File(9, std::byte{'x'}));
  Spoil(header, 32);
  EXPECT_EQ(Read(text), Fault::kNone);
  Spoil(text, Find(text, "tEXt") + 4 + 9);
  EXPECT_EQ(Read(header), Fault::kCorrupt);
  EXPECT_EQ(Read(text), Fault::kCorrupt);
}

TEST_F(PngDamageTest, AWrongSumOfTheDataIsForgivenAsWrongDataAreNot) {
  const size_t end = Find(file_, "IEND") - 4;
  File sum = file_, checksum = file_;
  Spoil(sum, end - 1);
  Spoil(checksum, end - 5);
  EXPECT_EQ(Read(sum), Fault::kNone);
  EXPECT_EQ(Read(checksum), Fault::kCorrupt);
}

TEST_F(PngDamageTest, AMissingEndIsForgiven) {
  const size_t end = Find(file_, "IEND") - 4;
  EXPECT_EQ(Read({file_.begin(), file_.begin() + end}), Fault::kNone);
  EXPECT_EQ(Read({file_.begin(), file_.begin() + end - 8}), Fault::kNone);  // nor Adler's sum
}

TEST_F(PngDamageTest, AnUnknownCriticalChunkIsPassedOver) {
  EXPECT_EQ(Read(WithPngChunk(file_, "TEST", File(7))), Fault::kNone);
}

TEST_F(PngDamageTest, APaletteImageWithoutPaletteIsCorrupt) {
  File file = file_;
  file[25] = std::byte{PngHeader::kPalette};
  EXPECT_EQ(Read(file), Fault::kCorrupt);
}

}  // namespace
}  // namespace penstock::decode
