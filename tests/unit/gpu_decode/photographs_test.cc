// The files that the tests on a GPU use, as libjpeg sees them.
#include "tests/support/gpu_decode/photographs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "client/gpu_decode/filler.h"

namespace penstock::testing {
namespace {

TEST(DamagedFilesTest, EachDiffersFromTheIntactFileAndFromTheOthers) {
  const std::vector<std::byte> intact = MakeJpeg(160, 120, {.horizontal = 2, .vertical = 2});
  std::set<std::vector<std::byte>> seen = {intact};
  for (const DamagedFile& damaged : MakeDamagedFiles(intact)) {
    EXPECT_TRUE(seen.insert(damaged.file).second) << damaged.name;
  }
  EXPECT_GT(seen.size(), 30u);
}

TEST(DamagedFilesTest, SomeAreRefusedByLibjpegAndSomeAreNot) {
  const std::vector<std::byte> intact = MakeJpeg(160, 120);
  int refused = 0, decoded = 0;
  for (const DamagedFile& damaged : MakeDamagedFiles(intact)) {
    ++(DecodeWithLibjpeg(damaged.file) ? decoded : refused);
  }
  EXPECT_GT(refused, 5);
  EXPECT_GT(decoded, 5);
}

TEST(UnusualFilesTest, MeetEveryVerdictThatTheirMakerCanMake) {
  std::set<jpeg::EngineVerdict> verdicts;
  for (const Photograph& file : MakeUnusualFiles()) verdicts.insert(JudgeForEngines(file.facts));
  for (const auto verdict :
       {jpeg::EngineVerdict::kTaken, jpeg::EngineVerdict::kNotBaseline,
        jpeg::EngineVerdict::kColors, jpeg::EngineVerdict::kSampling, jpeg::EngineVerdict::kSize}) {
    EXPECT_TRUE(verdicts.contains(verdict)) << ToText(verdict);
  }
}

TEST(FillerTest, IsGray) {
  const auto file = std::as_bytes(std::span(gpu_decode::kFillerFile));
  EXPECT_EQ(WarningsOf(file), 0);
  const auto image = DecodeWithLibjpeg(file);
  ASSERT_TRUE(image);
  EXPECT_EQ(image->width, gpu_decode::kFillerSide);
  EXPECT_EQ(image->height, gpu_decode::kFillerSide);
  EXPECT_TRUE(std::ranges::all_of(image->pixels, [](uint8_t value) { return value == 128; }));
}

TEST(PhotographsTest, GeneratedOnesAreTakenAndDecodeToTheirSize) {
  for (const Photograph& photograph : LoadPhotographs(8)) {
    EXPECT_EQ(JudgeForEngines(photograph.facts), jpeg::EngineVerdict::kTaken);
    const auto image = DecodeWithLibjpeg(photograph.file);
    ASSERT_TRUE(image.has_value());
    EXPECT_EQ(image->width, photograph.facts.width);
    EXPECT_EQ(image->pixels.size(), size_t{3} * image->width * image->height);
  }
}

}  // namespace
}  // namespace penstock::testing
