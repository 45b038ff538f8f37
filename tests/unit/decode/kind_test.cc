#include "server/decode/core/kind.h"

#include <gtest/gtest.h>

#include <string_view>

namespace penstock::decode {
namespace {

using namespace std::string_view_literals;

Kind Of(std::string_view content) { return KindOf(std::as_bytes(std::span(content))); }

TEST(KindTest, NothingTextAndHalfASignatureAreNoImage) {
  EXPECT_EQ(Of(""), Kind::kUnknown);
  EXPECT_EQ(Of("\xff\xd8"sv), Kind::kUnknown);
  EXPECT_EQ(Of("\x89PNG"sv), Kind::kUnknown);
  EXPECT_EQ(Of("P6, said the form"), Kind::kUnknown);
  EXPECT_EQ(Of("BMW and other words that begin so"), Kind::kUnknown);
  EXPECT_EQ(Of("RIFF\0\0\0\0WAVEfmt "sv), Kind::kUnknown);
}

TEST(KindTest, AJpegIsKnownByThreeBytes) { EXPECT_EQ(Of("\xff\xd8\xff\xe0"sv), Kind::kJpeg); }

TEST(KindTest, APngIsKnownByEightBytesAndAWebPByTwelve) {
  EXPECT_EQ(Of("\x89PNG\r\n\x1a\n"sv), Kind::kPng);
  EXPECT_EQ(Of("RIFF\0\0\0\0WEBP"sv), Kind::kWebP);
}

TEST(KindTest, OlderKindsAreKnownByTheirSignatures) {
  EXPECT_EQ(Of("GIF89a"), Kind::kGif);
  EXPECT_EQ(Of("BM\0\0\0\0\0\0\0\0\0\0\0\0\x28\0\0\0"sv), Kind::kBmp);
  EXPECT_EQ(Of("II*\0"sv), Kind::kTiff);
  EXPECT_EQ(Of("MM\0*"sv), Kind::kTiff);
  EXPECT_EQ(Of("II+\0"sv), Kind::kTiff);
  EXPECT_EQ(Of("P6\n640 480 255\n"), Kind::kNetpbm);
  EXPECT_EQ(Of("P2 # gray, in digits"), Kind::kNetpbm);
}

TEST(KindTest, WhatIsNotDecodedIsKnown) {
  EXPECT_EQ(Of("MM\0+"sv), Kind::kOtherImage);
  EXPECT_EQ(Of("\0\0\0\x1c"
               "ftypavif"sv),
            Kind::kOtherImage);
}

TEST(KindTest, ATgaIsKnownByItsHeaderOrByWhatItEndsWith) {
  EXPECT_EQ(Of("\0\0\x02\0\0\0\0\0\0\0\0\0\x40\0\x30\0\x18\x20pixels"sv), Kind::kOtherImage);
  EXPECT_EQ(Of("\0\x01\x09\0\0\0\x01\x18\0\0\0\0\x40\0\x30\0\x08\0palette"sv), Kind::kOtherImage);
  EXPECT_EQ(Of("whatever comes firstTRUEVISION-XFILE.\0"sv), Kind::kOtherImage);
}

TEST(KindTest, ZerosAndAHeaderWithoutSidesAreNoTga) {
  EXPECT_EQ(Of(std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20)), Kind::kUnknown);
  EXPECT_EQ(Of("\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\x30\0\x18\x20pixels"sv), Kind::kUnknown);
}

}  // namespace
}  // namespace penstock::decode
