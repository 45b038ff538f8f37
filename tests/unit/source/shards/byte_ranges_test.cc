#include "server/source/core/byte_ranges.h"

#include <gtest/gtest.h>

namespace penstock::source {
namespace {

TEST(ByteRangesTest, AFieldNamesPlacesWhereAWordOfItsNameSaysSo) {
  for (const char* name : {"mask", "seg.npy", "image/object/bbox/xmin", "left_mask.png", "BBox",
                           "keypoints.json", "depth16.npy"})
    EXPECT_TRUE(NamesPlaces(name)) << name;
}

TEST(ByteRangesTest, PartsOfWordsAndOtherNamesDoNot) {
  for (const char* name :
       {"", "txt", "clip.npy", "unmasked", "boxing.txt", "image/height", "json", "segue"})
    EXPECT_FALSE(NamesPlaces(name)) << name;
}

}  // namespace
}  // namespace penstock::source
