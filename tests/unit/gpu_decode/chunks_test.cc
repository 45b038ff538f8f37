#include "client/gpu_decode/chunks.h"

#include <gtest/gtest.h>

#include "client/gpu_decode/kernel_row.h"

namespace penstock::gpu_decode {
namespace {

TEST(ChunksTest, PlacesHavePaddedRowsAndSlackForTheKernel) {
  const ArenaPlace place = PlaceImage({501, 377}, 512);

  EXPECT_EQ(place.offset, 512u);
  EXPECT_EQ(place.pitch, 1504u);
  EXPECT_GE(place.bytes, 1504u * 377 + kImageSlackBytes);
  EXPECT_EQ(place.bytes % kArenaAlignment, 0u);
}

TEST(ChunksTest, TheLargestJpegsPlaceDoesNotOverflow) {
  EXPECT_GT(PlaceImage({65535, 65535}, 0).bytes, uint64_t{3} * 65535 * 65535);
}

TEST(ChunksTest, AreCutAtTheNumberOfImages) {
  const std::vector<ImageSize> images(130, {100, 100});
  const auto chunks = DivideIntoChunks(images, {64, 1 << 30});

  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(chunks[0].count, 64u);
  EXPECT_EQ(chunks[1].first, 64u);
  EXPECT_EQ(chunks[2].first, 128u);
  EXPECT_EQ(chunks[2].count, 2u);
}

TEST(ChunksTest, AreCutWhereTheArenaIsFull) {
  const std::vector<ImageSize> images = {{100, 100}, {200, 100}, {100, 100}, {300, 100}};
  const uint64_t arena = PlaceImage({300, 100}, 0).bytes;
  const auto chunks = DivideIntoChunks(images, {64, arena});

  uint32_t next = 0;
  for (const DecodeChunk& chunk : chunks) {
    EXPECT_EQ(chunk.first, next);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < chunk.count; ++i) bytes += PlaceImage(images[next + i], 0).bytes;
    EXPECT_LE(bytes, arena);
    next += chunk.count;
  }
  EXPECT_EQ(next, images.size());
  EXPECT_EQ(chunks.size(), 4u);
}

TEST(ChunksTest, NoImagesMakeNoChunks) { EXPECT_TRUE(DivideIntoChunks({}, {64, 100}).empty()); }

}  // namespace
}  // namespace penstock::gpu_decode
