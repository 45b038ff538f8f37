// Which decoded images are kept.
#include "server/kept/image_shelf.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace penstock::kept {
namespace {

using std::chrono::microseconds;

constexpr uint64_t kMiB = 1 << 20;

class ImageShelfTest : public ::testing::Test {
 protected:
  std::shared_ptr<KeptRowStore> store_ =
      std::make_shared<KeptRowStore>(KeptRowStore::Options{.memory = 8 * kMiB});
  ImageShelf shelf_{store_->Open({.user = 1, .files = 7, .rows = 0})};
};

TEST_F(ImageShelfTest, AnImageComesBackWhole) {
  std::vector<std::byte> image(1000, std::byte{0x42}), into(1000);
  EXPECT_FALSE(shelf_.BytesOf(5));
  shelf_.Put(5, image, microseconds(100));
  EXPECT_EQ(shelf_.BytesOf(5), 1000u);
  ASSERT_TRUE(shelf_.Take(5, into));
  EXPECT_EQ(into, image);
  EXPECT_FALSE(shelf_.Take(6, into));
  std::vector<std::byte> small(999);
  EXPECT_FALSE(shelf_.Take(5, small)) << "of another size than it has";
}

TEST(PaysTest, DecodingMustCostMuchMoreThanCopying) {
  EXPECT_TRUE(Pays(560'000, microseconds(1000)));    // a photograph
  EXPECT_TRUE(Pays(560'000, microseconds(4000)));    // as a PNG
  EXPECT_FALSE(Pays(560'000, microseconds(200)));    // a bitmap
  EXPECT_TRUE(Pays(3 * 32 * 32, microseconds(20)));  // a thumbnail
}

TEST_F(ImageShelfTest, OfACheapKindNoMoreAreDecodedAsAWhole) {
  std::vector<std::byte> image(100'000);
  EXPECT_GT(shelf_.RoomFor(1000), 0u);
  for (uint64_t sample = 0; sample < 64; ++sample) shelf_.Put(sample, image, microseconds(10));
  EXPECT_FALSE(shelf_.BytesOf(0));
  EXPECT_EQ(shelf_.RoomFor(1000), 0u);
  EXPECT_EQ(store_->counts().refused, 64u);
  EXPECT_EQ(store_->counts().bytes, 0u);
}

TEST_F(ImageShelfTest, RoomIsForManyTimesTheFileAndEndsWithTheMemory) {
  EXPECT_EQ(shelf_.RoomFor(100), 64u << 10);
  EXPECT_EQ(shelf_.RoomFor(100'000), 1'600'000u);
  EXPECT_EQ(shelf_.RoomFor(10 * kMiB), 4 * kMiB);
  std::vector<std::byte> image(6 * kMiB);
  shelf_.Put(1, image, std::chrono::seconds(1));
  EXPECT_EQ(shelf_.RoomFor(10 * kMiB), 0u);
  EXPECT_GT(shelf_.RoomFor(100), 0u);
}

}  // namespace
}  // namespace penstock::kept
