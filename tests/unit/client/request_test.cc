#include "client/src/request.h"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

TEST(RequestTest, TheDefaultRemainderIsPartialForOneRankAndPadForMore) {
  SessionOptions options;
  EXPECT_EQ(MakeOpenRequest(options, {}, 0).remainder(), v1::REMAINDER_PARTIAL);

  options.world_size = 2;
  EXPECT_EQ(MakeOpenRequest(options, {}, 0).remainder(), v1::REMAINDER_PAD);
  options.remainder = Remainder::kDrop;
  EXPECT_EQ(MakeOpenRequest(options, {}, 0).remainder(), v1::REMAINDER_DROP);
}

TEST(RequestTest, AStatesSeedIsTheFeeds) {
  SessionOptions options;
  options.seed = 1;
  options.state = State{.epoch = 4, .consumed = 64, .seed = 9, .fingerprint = 3};

  const v1::OpenSessionRequest request = MakeOpenRequest(options, options.state, 2);

  EXPECT_EQ(request.feed().seed(), 9u);
  EXPECT_EQ(request.state().epoch(), 4u);
  EXPECT_EQ(request.state().consumed(), 64u);
  EXPECT_EQ(request.state().fingerprint(), 3u);
  EXPECT_EQ(request.epochs(), 2u);
}

TEST(RequestTest, WithoutAStateNoneIsSent) { EXPECT_FALSE(MakeOpenRequest({}, {}, 0).has_state()); }

TEST(RequestTest, ACenterCropTakesThePlaceOfTheRandomOne) {
  SessionOptions options;
  EXPECT_TRUE(MakeOpenRequest(options, {}, 0).feed().image().has_random_resized_crop());

  options.center_crop = ResizeCenterCrop{.resize = 300};

  const v1::ImageDecoding image = MakeOpenRequest(options, {}, 0).feed().image();
  EXPECT_FALSE(image.has_random_resized_crop());
  EXPECT_EQ(image.resize_center_crop().resize(), 300u);
  EXPECT_EQ(image.resize_center_crop().height(), 224u);
}

}  // namespace
}  // namespace penstock::client
