// Orientations: we find them where Pillow does, and none where Pillow finds none, in arbitrary
// bytes.
#include "server/decode/core/exif.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/files/jpeg_maker.h"
#include "tests/support/files/png_maker.h"

namespace penstock::decode {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using File = std::vector<std::byte>;

File Bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

int TagOf(std::string_view tiff) { return OrientationTag(std::as_bytes(std::span(tiff))); }

// One entry: tag, type, count, value.
constexpr std::string_view kSix = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"sv;

TEST(OrientationTagTest, NoTiffHasNone) {
  EXPECT_EQ(TagOf(""), 1);
  EXPECT_EQ(TagOf("II*\0"sv), 1);
  EXPECT_EQ(TagOf("not a TIFF header at all"), 1);
  EXPECT_EQ(TagOf("II*\0\xff\xff\xff\xff\x01\0\x12\x01"sv), 1);  // its directory is outside
}

TEST(OrientationTagTest, AValueBeyondEightOrOfTextIsNone) {
  std::string tiff(kSix);
  tiff[18] = 9;
  EXPECT_EQ(TagOf(tiff), 1);
  tiff[18] = 0;
  EXPECT_EQ(TagOf(tiff), 1);
  tiff[18] = 6;
  tiff[12] = 1;  // bytes
  EXPECT_EQ(TagOf(tiff), 1);
}

TEST(OrientationTagTest, ReadingEndsAtAnEntryWhoseValueLiesOutside) {
  std::string tiff(kSix);
  tiff[8] = 2;
  const std::string outside("\x0f\x01\x02\0\x20\0\0\0\xf0\xff\xff\xff", 12);
  EXPECT_EQ(TagOf(tiff + outside), 6);
  tiff.insert(10, outside);
  EXPECT_EQ(TagOf(tiff), 1);
}

TEST(OrientationTagTest, BothByteOrdersAndLongerNumbersAreRead) {
  EXPECT_EQ(TagOf(kSix), 6);
  EXPECT_EQ(TagOf("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x03\0\0"sv), 3);
  EXPECT_EQ(TagOf("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x04\0\0\0\x01\0\0\0\x08"sv), 8);
}

TEST(OrientationTagTest, EveryCutAndEveryFlippedBitGivesAnOrientation) {
  for (size_t cut = 0; cut <= kSix.size(); ++cut) {
    EXPECT_EQ(TagOf(kSix.substr(0, cut)), cut == kSix.size() ? 6 : 1);
  }
  for (size_t bit = 0; bit < 8 * kSix.size(); ++bit) {
    std::string tiff(kSix);
    tiff[bit / 8] = static_cast<char>(tiff[bit / 8] ^ (1 << bit % 8));
    const int tag = TagOf(tiff);
    EXPECT_TRUE(tag >= 1 && tag <= 8);
  }
}

TEST(OrientationTest, SixTurnsClockwise) {
  EXPECT_TRUE(ReadOrientation(1).upright());
  EXPECT_EQ(ReadOrientation(6), (Orientation{.mirror_rows = true, .exchange = true}));
}

// The block that FindExif finds, as text.
std::string Found(Kind kind, const File& file) {
  const auto tiff = FindExif(kind, file);
  return {reinterpret_cast<const char*>(tiff.data()), tiff.size()};
}

File Inserted(File file, size_t at, std::string_view what) {
  const File bytes = Bytes(what);
  file.insert(file.begin() + static_cast<ptrdiff_t>(at), bytes.begin(), bytes.end());
  return file;
}

TEST(FindExifTest, AJpegsFirstBlockCounts) {
  const File plain = testing::MakeJpeg(8, 8);
  const File other = Inserted(plain, 2, "\xff\xe1\0\x08XMP...."sv.substr(0, 10));
  const File one = Inserted(plain, 2,
                            "\xff\xe1\0\x0b"
                            "Exif\0\0two"sv);
  const File two = Inserted(one, 2,
                            "\xff\xff\xe1\0\x0b"
                            "Exif\0\0one"sv);

  EXPECT_EQ(Found(Kind::kJpeg, plain), "");
  EXPECT_EQ(Found(Kind::kJpeg, other), "");
  EXPECT_EQ(Found(Kind::kJpeg, one), "two");
  EXPECT_EQ(Found(Kind::kJpeg, two), "one");
}

TEST(FindExifTest, NothingBehindAJpegsScanIsABlock) {
  File file = testing::MakeJpeg(8, 8);
  file = Inserted(file, file.size() - 2,
                  "\xff\xe1\0\x0b"
                  "Exif\0\0two"sv);

  EXPECT_EQ(Found(Kind::kJpeg, file), "");
}

TEST(FindExifTest, APngsLastBlockCounts) {
  const PngHeader header{.width = 2, .height = 2, .depth = 8};
  const File plain = testing::MakePng(header, testing::MakePngSamples(header));
  const File one = testing::WithPngChunk(plain, "eXIf", Bytes("one"));

  EXPECT_EQ(Found(Kind::kPng, plain), "");
  EXPECT_EQ(Found(Kind::kPng, one), "one");
  EXPECT_EQ(Found(Kind::kPng, testing::WithPngChunk(one, "eXIf", Bytes("two"))), "two");
}

TEST(FindExifTest, AWebPHasABlockOnlyIfItSaysSo) {
  const auto webp = [](char flags) {
    return Bytes("RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0"s + flags + "\0\0\0\1\0\0\1\0\0"s +
                 "ODD \1\0\0\0x\0"s + "EXIF\3\0\0\0one\0"s + "EXIF\3\0\0\0two\0"s);
  };
  EXPECT_EQ(Found(Kind::kWebP, webp(0)), "");
  EXPECT_EQ(Found(Kind::kWebP, webp(8)), "one");
  EXPECT_EQ(Found(Kind::kWebP, Bytes("RIFF\0\0\0\0WEBPVP8 \0\0\0\0EXIF\3\0\0\0one\0"sv)), "");
}

TEST(FindExifTest, RandomBytesAreNeverReadBeyondTheirEnd) {
  std::mt19937 random(8);
  for (int round = 0; round < 3000; ++round) {
    File file(random() % 80);
    for (std::byte& byte : file) byte = static_cast<std::byte>(random() % 3 == 0 ? 0xFF : random());
    for (const Kind kind : {Kind::kJpeg, Kind::kPng, Kind::kWebP}) {
      const auto found = FindExif(kind, file);
      EXPECT_LE(found.size(), file.size());
      OrientationTag(found);
    }
  }
}

}  // namespace
}  // namespace penstock::decode
