#include "server/decode/core/spec.h"

#include <gmock/gmock.h>

#include <limits>
#include <string>

namespace penstock::decode {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const Spec& spec) {
  const absl::Status status = Validate(spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(SpecTest, ASideOfNoPixelsIsRefusedWithTheRange) {
  EXPECT_THAT(Refusal({.height = 0}), HasSubstr("height: wanted 1 to 16384 pixels, got 0"));
  EXPECT_THAT(Refusal({.width = 16385}), HasSubstr("width: wanted 1 to 16384 pixels, got 16385"));
}

TEST(SpecTest, AnImpossibleScaleOrRatioIsRefused) {
  EXPECT_THAT(Refusal({.scale_min = 0}), HasSubstr("scale"));
  EXPECT_THAT(Refusal({.scale_min = 0.9, .scale_max = 0.1}), HasSubstr("got 0.9 and 0.1"));
  EXPECT_THAT(Refusal({.ratio_max = std::numeric_limits<double>::infinity()}), HasSubstr("ratio"));
  EXPECT_THAT(Refusal({.ratio_min = std::numeric_limits<double>::quiet_NaN()}), HasSubstr("ratio"));
}

TEST(SpecTest, AProbabilityBeyondOneIsRefused) {
  EXPECT_THAT(Refusal({.flip_probability = 1.5}), HasSubstr("wanted 0 to 1, got 1.5"));
  EXPECT_THAT(Refusal({.flip_probability = -0.1}), HasSubstr("flip_probability"));
}

TEST(SpecTest, ACenterCropBeyondTheResizedImageIsRefused) {
  EXPECT_THAT(Refusal({.geometry = Geometry::kResizeCenterCrop, .width = 300, .resize = 256}),
              HasSubstr("wanted at least the crop's 224x300, got 256"));
}

TEST(SpecTest, AnUnknownGeometryIsRefused) {
  EXPECT_THAT(Refusal({.geometry = static_cast<Geometry>(7)}), HasSubstr("got 7"));
}

TEST(SpecTest, TheDefaultsOfBothGeometriesAreAccepted) {
  EXPECT_TRUE(Validate({}).ok());
  EXPECT_TRUE(Validate({.geometry = Geometry::kResizeCenterCrop}).ok());
}

TEST(SpecTest, AnUnknownColorOrTreatmentOfExifIsRefused) {
  EXPECT_THAT(Refusal({.color = static_cast<Color>(2)}), HasSubstr("color"));
  EXPECT_THAT(Refusal({.exif = static_cast<Exif>(9)}), HasSubstr("got 9"));
}

TEST(SpecTest, AnUnknownInterpolationIsRefusedWithThoseThatThereAre) {
  EXPECT_THAT(Refusal({.interpolation = static_cast<base::Interpolation>(4)}),
              HasSubstr("interpolation: wanted nearest (0), lanczos (1), bilinear (2) or bicubic "
                        "(3), got 4"));
  for (uint32_t known = 0; known < base::kInterpolations; ++known) {
    EXPECT_TRUE(Validate({.interpolation = static_cast<base::Interpolation>(known)}).ok());
  }
}

TEST(SpecTest, UndecodedRowsAreOfWhatTheConsumerMakes) {
  const Undecoded fits = {.place_bytes = 150'528 + 64, .share = 1, .decoder = 1};
  EXPECT_TRUE(Validate({.undecoded = fits}).ok());
  EXPECT_TRUE(Validate({.geometry = Geometry::kResizeCenterCrop, .undecoded = fits}).ok());
  EXPECT_THAT(Refusal({.color = Color::kGray, .undecoded = fits}), HasSubstr("undecoded"));
  EXPECT_THAT(Refusal({.geometry = Geometry::kWhole, .undecoded = fits}), HasSubstr("undecoded"));
  EXPECT_THAT(Refusal({.undecoded = {.place_bytes = 150'528}}), HasSubstr("got 150528"));
  EXPECT_THAT(Refusal({.undecoded = {.place_bytes = 150'528 + 65}}), HasSubstr("got 150593"));
  EXPECT_THAT(Refusal({.undecoded = {.place_bytes = kMostPlaceBytes + 64}}),
              HasSubstr("undecoded.place_bytes"));
}

TEST(SpecTest, ARowHasThreeBytesAPixelOrOneOfGray) {
  EXPECT_EQ(RowBytes({}), 150528u);
  EXPECT_EQ(RowBytes({.color = Color::kGray}), 50176u);
}

}  // namespace
}  // namespace penstock::decode
