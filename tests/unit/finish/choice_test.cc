#include "client/finish/choice.h"

#include <gtest/gtest.h>

namespace penstock::finish {
namespace {

constexpr Shape kImages = {256, 224, 224, 3};
constexpr uintptr_t kAligned = 1 << 21;

TEST(ChoiceTest, MisalignedMemoryGoesThroughTiles) {
  EXPECT_EQ(Choose(Type::kFloat32, Layout::kNHWC, kImages, kAligned + 1, kAligned).kernel,
            Kernel::kTiles);
  EXPECT_EQ(Choose(Type::kFloat32, Layout::kNHWC, kImages, kAligned, kAligned + 4).kernel,
            Kernel::kTiles);
}

TEST(ChoiceTest, PlanesThatBeginBetweenTwoStoresGoThroughTiles) {
  EXPECT_EQ(Choose(Type::kFloat16, Layout::kNCHW, {1, 15, 4, 3}, kAligned, kAligned).kernel,
            Kernel::kTiles);
  EXPECT_EQ(Choose(Type::kFloat32, Layout::kNCHW, {1, 15, 4, 3}, kAligned, kAligned).kernel,
            Kernel::kThreePlanes);
}

TEST(ChoiceTest, PlanesOfFourChannelsGoThroughTiles) {
  EXPECT_EQ(Choose(Type::kFloat32, Layout::kNCHW, {1, 16, 16, 4}, kAligned, kAligned).kernel,
            Kernel::kTiles);
}

TEST(ChoiceTest, OneChannelOrOnePixelIsTheSameInBothLayouts) {
  EXPECT_EQ(Choose(Type::kUInt8, Layout::kNCHW, {8, 5, 5, 1}, kAligned, kAligned).kernel,
            Kernel::kLinear);
  EXPECT_EQ(Choose(Type::kUInt8, Layout::kNCHW, {8, 1, 1, 5}, kAligned, kAligned).kernel,
            Kernel::kLinear);
}

TEST(ChoiceTest, BlocksCoverEveryStoreOnce) {
  const Choice choice = Choose(Type::kFloat32, Layout::kNCHW, kImages, kAligned, kAligned);

  EXPECT_EQ(choice.kernel, Kernel::kThreePlanes);
  EXPECT_EQ(choice.groups_per_plane, 224u * 224 / 4);
  EXPECT_EQ(choice.groups, 256u * 224 * 224 / 4);
  EXPECT_EQ(choice.blocks, (choice.groups + kThreads - 1) / kThreads);
}

TEST(ChoiceTest, AThreadOfTheLinearKernelMeetsTheSameChannelFirstInEveryTurn) {
  for (uint32_t channels = 1; channels <= kMaxChannels; ++channels) {
    const Choice choice =
        Choose(Type::kFloat32, Layout::kNHWC, {2, 100, 100, channels}, kAligned, kAligned);

    EXPECT_EQ(choice.kernel, Kernel::kLinear);
    EXPECT_EQ(choice.threads % channels, 0u);
    EXPECT_EQ(choice.threads % 32, 0u);
    EXPECT_LE(choice.threads, 512u);
    EXPECT_GE(choice.blocks * choice.threads * kGroupsPerThread, choice.groups);
  }
}

TEST(ChoiceTest, TilesFitSharedMemoryAndBeginAtMultiplesOf16Pixels) {
  for (uint32_t channels = 1; channels <= kMaxChannels; ++channels) {
    const Choice choice = ChooseTiles({7, 100, 101, channels});

    EXPECT_LE(choice.tile_pixels * channels, kTileBytes);
    EXPECT_EQ(choice.tile_pixels % 16, 0u);
    EXPECT_GE(choice.tiles_per_row * choice.tile_pixels, 10100u);
    EXPECT_EQ(choice.blocks, 7 * choice.tiles_per_row);
  }
}

}  // namespace
}  // namespace penstock::finish
