// Kinds of files that nvJPEG has taken: only those of the engines are remembered.
#include "client/gpu_decode/taken_kinds.h"

#include <gtest/gtest.h>

#include "tests/support/gpu_decode/photograph_facts.h"

namespace penstock::gpu_decode {
namespace {

using testing::kPhotographFacts;

TEST(TakenKindsTest, CoverWhatLiesBetweenThoseThatWereTaken) {
  TakenKinds taken;
  EXPECT_FALSE(taken.Cover(kPhotographFacts));
  taken.Add(kPhotographFacts);
  EXPECT_TRUE(taken.Cover(kPhotographFacts));
  jpeg::JpegHeaderFacts other = kPhotographFacts;
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
    jpeg::JpegHeaderFacts odd = kPhotographFacts;
    odd.horizontal[0] = odd.vertical[0] = sampling;
    taken.Add(odd);
    EXPECT_FALSE(taken.Cover(odd)) << int{sampling};
  }
  taken.Add(kPhotographFacts);
  jpeg::JpegHeaderFacts progressive = kPhotographFacts;
  progressive.frame_marker = 0xC2;
  EXPECT_FALSE(taken.Cover(progressive));
  jpeg::JpegHeaderFacts gray = kPhotographFacts;
  gray.components = gray.components_of_first_scan = 1;
  EXPECT_FALSE(taken.Cover(gray));
}

}  // namespace
}  // namespace penstock::gpu_decode
