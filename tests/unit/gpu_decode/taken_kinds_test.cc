// Kinds of files that nvJPEG has taken: only those of the engines are remembered.
#include "client/gpu_decode/taken_kinds.h"

#include <gtest/gtest.h>

namespace penstock::gpu_decode {
namespace {

constexpr jpeg::JpegHeaderFacts kPhotograph = {.frame_marker = 0xC0,
                                               .bits = 8,
                                               .width = 500,
                                               .height = 375,
                                               .components = 3,
                                               .components_of_first_scan = 3,
                                               .horizontal = {2, 1, 1},
                                               .vertical = {2, 1, 1},
                                               .ycbcr = true};

TEST(TakenKindsTest, CoverWhatLiesBetweenThoseThatWereTaken) {
  TakenKinds taken;
  EXPECT_FALSE(taken.Cover(kPhotograph));
  taken.Add(kPhotograph);
  EXPECT_TRUE(taken.Cover(kPhotograph));
  jpeg::JpegHeaderFacts other = kPhotograph;
  other.width = 400;
  other.height = 600;
  EXPECT_FALSE(taken.Cover(other));
  taken.Add(other);
  other.height = 500;
  EXPECT_TRUE(taken.Cover(other));
  other.vertical[0] = 1;
  EXPECT_FALSE(taken.Cover(other));
}

TEST(TakenKindsTest, NeverCoverWhatTheEnginesDoNotTake) {
  TakenKinds taken;
  for (const uint8_t sampling : {0, 3, 4, 15}) {
    jpeg::JpegHeaderFacts odd = kPhotograph;
    odd.horizontal[0] = odd.vertical[0] = sampling;
    taken.Add(odd);
    EXPECT_FALSE(taken.Cover(odd)) << int{sampling};
  }
  taken.Add(kPhotograph);
  jpeg::JpegHeaderFacts progressive = kPhotograph;
  progressive.frame_marker = 0xC2;
  EXPECT_FALSE(taken.Cover(progressive));
  jpeg::JpegHeaderFacts gray = kPhotograph;
  gray.components = gray.components_of_first_scan = 1;
  EXPECT_FALSE(taken.Cover(gray));
}

}  // namespace
}  // namespace penstock::gpu_decode
