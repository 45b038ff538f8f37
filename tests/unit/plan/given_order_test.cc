#include "server/plan/given_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace penstock::plan {
namespace {

using ::testing::HasSubstr;

using Samples = std::vector<uint64_t>;

GivenOrder OrderOf(const Samples& samples) {
  GivenOrderBuilder builder(samples.size());
  EXPECT_TRUE(builder.Add(samples).ok());
  return builder.Finish().value();
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(GivenOrderTest, MoreSamplesThanWereAnnouncedAreRefused) {
  GivenOrderBuilder builder(3);
  ASSERT_TRUE(builder.Add(Samples{1, 2}).ok());

  const absl::Status status = builder.Add(Samples{3, 4});

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("was to have 3 samples, got at least 4"));
}

TEST(GivenOrderTest, FewerSamplesThanWereAnnouncedAreRefused) {
  GivenOrderBuilder builder(3);
  ASSERT_TRUE(builder.Add(Samples{1, 2}).ok());

  EXPECT_THAT(Message(builder.Finish().status()), HasSubstr("was to have 3 samples, got 2"));
}

TEST(GivenOrderTest, AnOrderOfNothingIsRefused) {
  GivenOrderBuilder builder(0);

  EXPECT_THAT(Message(builder.Finish().status()), HasSubstr("at least one"));
}

TEST(GivenOrderTest, ASampleThatTheDatasetDoesNotHaveIsNamedWithItsPlaceAndTheSize) {
  const GivenOrder order = OrderOf({3, 120, 7, 120});

  EXPECT_TRUE(order.CheckFits({0, 121}).ok());
  const absl::Status status = order.CheckFits({0, 100});

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("sample 120 at place 1"));
  EXPECT_THAT(Message(status), HasSubstr("100 samples, 0 to 99"));
}

TEST(GivenOrderTest, ASampleZeroAloneFitsEveryDataset) {
  EXPECT_TRUE(OrderOf({0, 0}).CheckFits({0, 1}).ok());
}

TEST(GivenOrderTest, ASampleOutsideOfARangeIsNamedOnWhicheverSide) {
  const GivenOrder order = OrderOf({30, 12, 25, 12});

  EXPECT_TRUE(order.CheckFits({12, 19}).ok());
  EXPECT_THAT(Message(order.CheckFits({13, 50})), HasSubstr("sample 12 at place 1"));
  EXPECT_THAT(Message(order.CheckFits({10, 20})), HasSubstr("sample 30 at place 0"));
  EXPECT_THAT(Message(order.CheckFits({10, 20})), HasSubstr("20 samples, 10 to 29"));
}

TEST(GivenOrderTest, SamplesComeBackAsTheyWereGivenInHoweverManyPieces) {
  GivenOrderBuilder builder(5);
  ASSERT_TRUE(builder.Add(Samples{9, 9}).ok());
  ASSERT_TRUE(builder.Add(Samples{}).ok());
  ASSERT_TRUE(builder.Add(Samples{0, 4'000'000'000, 1}).ok());

  const GivenOrder order = builder.Finish().value();

  EXPECT_EQ(order.size(), 5u);
  EXPECT_EQ(order[0], 9u);
  EXPECT_EQ(order[1], 9u);
  EXPECT_EQ(order[3], 4'000'000'000u);
  EXPECT_EQ(order[4], 1u);
  EXPECT_TRUE(order == OrderOf({9, 9, 0, 4'000'000'000, 1}));
  EXPECT_EQ(order.hash(), OrderOf({9, 9, 0, 4'000'000'000, 1}).hash());
}

TEST(GivenOrderTest, ASampleTakesFourBytesAndEightWhereOneNeedsThem) {
  const GivenOrder narrow = OrderOf({1, UINT32_MAX, 3});
  const GivenOrder wide = OrderOf({1, uint64_t{UINT32_MAX} + 1, 3});

  EXPECT_EQ(narrow.bytes(), 12u);
  EXPECT_EQ(narrow[1], UINT32_MAX);
  EXPECT_EQ(wide.bytes(), 24u);
  EXPECT_EQ(wide[0], 1u);
  EXPECT_EQ(wide[1], uint64_t{UINT32_MAX} + 1);
  EXPECT_EQ(wide[2], 3u);
}

TEST(GivenOrderTest, OtherOrdersHaveOtherHashes) {
  const uint64_t hash = OrderOf({1, 2, 3}).hash();

  EXPECT_NE(OrderOf({1, 3, 2}).hash(), hash);
  EXPECT_NE(OrderOf({1, 2}).hash(), hash);
  EXPECT_NE(OrderOf({1, 2, 3, 3}).hash(), hash);
  EXPECT_FALSE(OrderOf({1, 3, 2}) == OrderOf({1, 2, 3}));
}

// Users keep states that contain this hash, and changing it would invalidate all of them.
TEST(GivenOrderTest, TheHashIsTheSameOnEveryMachineAndInEveryVersion) {
  EXPECT_EQ(OrderOf({5, 3, 8}).hash(), 0x230423847efae69eu);
}

}  // namespace
}  // namespace penstock::plan
