#include "client/examples/photograph.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace penstock::examples {
namespace {

uint64_t Digest(const Photograph& picture) {
  uint64_t digest = 0;
  for (const uint8_t byte : picture.rgb) digest = Mix(digest ^ byte);
  return digest;
}

TEST(PhotographTest, DifferentSeedsGiveDifferentPictures) {
  EXPECT_NE(Digest(DrawPhotograph(1)), Digest(DrawPhotograph(2)));
}

TEST(PhotographTest, ASeedGivesTheSameBytesOnEveryMachine) {
  EXPECT_EQ(Digest(DrawPhotograph(7)), 6183457510437691058u);
}

TEST(PhotographTest, SizesVaryAroundThoseOfPhotographs) {
  std::set<std::pair<uint32_t, uint32_t>> sizes;

  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Photograph picture = DrawPhotograph(seed);
    ASSERT_EQ(picture.rgb.size(), size_t{3} * picture.width * picture.height);
    ASSERT_GE(picture.width, 300u);
    ASSERT_LE(picture.width, 600u);
    ASSERT_GE(picture.height, 300u);
    ASSERT_LE(picture.height, 600u);
    sizes.emplace(picture.width, picture.height);
  }

  EXPECT_GT(sizes.size(), 15u);
}

}  // namespace
}  // namespace penstock::examples
