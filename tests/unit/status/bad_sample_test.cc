// Which requests for pictures of bad samples are understood, and what is answered.
#include "server/status/page/bad_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::status {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

HttpPage Picture(std::string bytes) {
  return MakePicture(std::make_shared<const std::string>(std::move(bytes)));
}

TEST(BadSampleNameTest, IsADatasetAndANumber) {
  EXPECT_EQ(ParseBadSampleName("dataset=flowers&sample=12"),
            (BadSampleName{.dataset = "flowers", .sample = 12}));
  EXPECT_EQ(ParseBadSampleName("dataset=%2Fa%20b%26%c3%a9+&sample=18446744073709551615"),
            (BadSampleName{.dataset = "/a b&\u00e9+", .sample = UINT64_MAX}));
}

TEST(BadSampleNameTest, AnythingElseIsRefused) {
  for (const char* query :
       {"", "dataset=a", "dataset=&sample=1", "sample=1&dataset=a",
        "dataset=a&sample=", "dataset=a&sample=-1", "dataset=a&sample=+1", "dataset=a&sample=1.0",
        "dataset=a&sample=0x1", "dataset=a&sample=1&sample=2",
        "dataset=a&sample=18446744073709551616", "dataset=%&sample=1", "dataset=%a&sample=1",
        "dataset=%0g&sample=1", "dataset=a&b=c&sample=1"})
    EXPECT_EQ(ParseBadSampleName(query), std::nullopt) << query;
}

TEST(PictureTypeTest, IsKnownByTheFirstBytes) {
  const std::string bmp("BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\1", 19);

  EXPECT_EQ(FindPictureType("\xff\xd8\xff\xe0"), "image/jpeg");
  EXPECT_EQ(FindPictureType("\x89PNG\r\n\x1a\n...."), "image/png");
  EXPECT_EQ(FindPictureType("GIF89a...."), "image/gif");
  EXPECT_EQ(FindPictureType("GIF87a...."), "image/gif");
  EXPECT_EQ(FindPictureType("RIFF1234WEBPVP8 "), "image/webp");
  EXPECT_EQ(FindPictureType(bmp), "image/bmp");
}

TEST(PictureTypeTest, WhatCanContainScriptsOrIsUnknownToBrowsersHasNone) {
  for (const std::string bytes :
       {"", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "<!doctype html><script>1</script>",
        "<?xml version=\"1.0\"?>", "%PDF-1.7", "\xff\xd8", "BM is how this text begins, no picture",
        "RIFF1234WAVEfmt ", "II*", "MM", "P6 1 1 255 ", "GIF88a", " \xff\xd8\xff"})
    EXPECT_EQ(FindPictureType(bytes), "") << bytes;
}

TEST(PictureTest, HasTheStoredBytesUnderTheirTypeAndMayDoNothingInABrowser) {
  const std::string bytes = "\xff\xd8\xff, and then <script>alert(1)</script>";

  const HttpPage page = Picture(bytes);
  const std::string head = ResponseHead(page.verdict, page.body->size(), page.content);

  EXPECT_EQ(*page.body, bytes);
  EXPECT_THAT(head, AllOf(StartsWith("HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\n"),
                          HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"),
                          HasSubstr("\r\nContent-Security-Policy: default-src 'none'; sandbox\r\n"),
                          HasSubstr("\r\nCross-Origin-Resource-Policy: same-origin\r\n"),
                          HasSubstr("\r\nCache-Control: no-store\r\n")));
}

TEST(PictureTest, OtherBytesAreRefusedAndNotSent) {
  const HttpPage page = Picture("<svg onload=alert(1)>");

  EXPECT_EQ(page.verdict, HttpVerdict::kNotFound);
  EXPECT_THAT(*page.body, StartsWith("not an image that browsers show"));
  EXPECT_THAT(page.content.type, StartsWith("text/plain"));
}

TEST(PictureTest, MoreThanEightMebibytesAreRefused) {
  std::string largest = "\xff\xd8\xff";
  largest.resize(kMostPictureBytes, 'x');

  EXPECT_EQ(Picture(largest).verdict, HttpVerdict::kPage);
  const HttpPage more = Picture(largest + "x");

  EXPECT_EQ(more.verdict, HttpVerdict::kNotFound);
  EXPECT_EQ(*more.body, "larger than 8 MiB: it has 8388609 bytes\n");
}

TEST(PictureTest, WhatMayPassIsToldFromWhatStays) {
  EXPECT_EQ(MakeRefusal(absl::UnavailableError("x")).verdict, HttpVerdict::kUnavailable);
  EXPECT_EQ(MakeRefusal(absl::ResourceExhaustedError("x")).verdict, HttpVerdict::kUnavailable);
  EXPECT_EQ(MakeRefusal(absl::NotFoundError("x")).verdict, HttpVerdict::kNotFound);
  EXPECT_EQ(*MakeRefusal(absl::NotFoundError("in words")).body, "in words\n");
}

}  // namespace
}  // namespace penstock::status
