#include "server/app/service/given_orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace penstock::app {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using Samples = std::vector<uint64_t>;
using Code = absl::StatusCode;

constexpr base::TimePoint kStart{std::chrono::hours(1)};

class GivenOrdersTest : public ::testing::Test {
 protected:
  absl::StatusOr<uint64_t> Send(const Samples& samples, GivenOrders::Sender sender = {1000, 1}) {
    PENSTOCK_ASSIGN_OR_RETURN(auto incoming, orders_.Receive(sender, samples.size()));
    PENSTOCK_RETURN_IF_ERROR(incoming->Add(samples));
    return incoming->Finish();
  }
  static std::string Message(const absl::Status& status) { return std::string(status.message()); }

  GivenOrders orders_{{.max_samples = 100, .max_per_user = 3, .max_bytes = 1000, .owner = 1001}};
};

// ---- Limits. ----

TEST_F(GivenOrdersTest, AnOrderThatIsTooLongIsRefusedBeforeItComes) {
  const absl::Status status = orders_.Receive({1000, 1}, 101).status();

  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("limits.max_order_samples, 100"));
  EXPECT_EQ(orders_.Used().bytes, 0u);
}

TEST_F(GivenOrdersTest, OneOrderMoreThanAUserMayHaveIsRefusedAndAnotherUsersIsNot) {
  for (uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(Send({i}).ok());

  const absl::Status status = Send({3}).status();

  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("user 1000 has 3 orders in use"));
  EXPECT_TRUE(Send({3}, {1001, 2}).ok());
}

TEST_F(GivenOrdersTest, OrdersOnTheirWayCount) {
  const auto first = orders_.Receive({1000, 1}, 1).value();
  const auto second = orders_.Receive({1000, 1}, 1).value();
  auto third = orders_.Receive({1000, 1}, 1).value();
  EXPECT_EQ(orders_.Receive({1000, 1}, 1).status().code(), Code::kResourceExhausted);

  third.reset();

  EXPECT_TRUE(orders_.Receive({1000, 1}, 1).ok());
}

TEST_F(GivenOrdersTest, OneUserTakesHalfOfTheMemoryThatOthersLeaveAndTheOwnerAllOfIt) {
  const auto first = orders_.Receive({1000, 1}, 100).value();  // 400 bytes of 500

  const absl::Status status = orders_.Receive({1000, 1}, 26).status();

  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("user 1000 has "));
  EXPECT_EQ(orders_.Receive({1002, 2}, 76).status().code(), Code::kResourceExhausted);
  const auto second = orders_.Receive({1002, 2}, 75).value();  // 300 of 600
  EXPECT_TRUE(orders_.Receive({1001, 3}, 75).ok());
}

TEST_F(GivenOrdersTest, WhatDoesNotFitTheMemoryOfAllIsRefusedWithTheNumbers) {
  ASSERT_TRUE(Send(Samples(100, 7)).ok());
  ASSERT_TRUE(Send(Samples(100, 8), {1001, 2}).ok());

  const absl::Status status = Send(Samples(100, 9), {1002, 3}).status();

  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(Message(status), HasSubstr("limits.max_order_memory"));
  EXPECT_EQ(orders_.Used().bytes, 800u);
}

TEST_F(GivenOrdersTest, LargeNumbersNeedTwiceTheMemoryAndAreRefusedWhereThatIsNotThere) {
  const auto incoming = orders_.Receive({1000, 1}, 100).value();
  ASSERT_TRUE(Send(Samples(100, 7), {1001, 2}).ok());

  const absl::Status status = incoming->Add(Samples{uint64_t{1} << 32});

  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(orders_.Used().bytes, 800u);
}

TEST_F(GivenOrdersTest, WhatIsNotFinishedIsForgotten) {
  {
    const auto incoming = orders_.Receive({1000, 1}, 100).value();
    ASSERT_TRUE(incoming->Add(Samples{1, 2}).ok());
    EXPECT_EQ(incoming->Finish().status().code(), Code::kInvalidArgument);
    EXPECT_EQ(orders_.Used().bytes, 400u);
  }

  EXPECT_EQ(orders_.Used().orders, 0u);
  EXPECT_EQ(orders_.Used().bytes, 0u);
}

// ---- Finding. ----

TEST_F(GivenOrdersTest, AnUnknownNameIsNotFoundAndTellsWhatToDo) {
  const absl::Status status = orders_.Find(1000, 4711).status();

  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("SendOrder"));
}

TEST_F(GivenOrdersTest, AnOrderIsFoundByItsUserAlone) {
  const uint64_t name = Send({3, 1, 2}).value();

  EXPECT_EQ(orders_.Find(1001, name).status().code(), Code::kNotFound);
  EXPECT_EQ((**orders_.Find(1000, name))[1], 1u);
}

TEST_F(GivenOrdersTest, TheSameOrderSentTwiceIsThereOnce) {
  const uint64_t name = Send({3, 1, 2}, {1000, 1}).value();
  const auto found = orders_.Find(1000, name).value();

  EXPECT_EQ(Send({3, 1, 2}, {1000, 2}).value(), name);

  EXPECT_EQ(orders_.Find(1000, name).value(), found);
  EXPECT_EQ(orders_.Used().orders, 1u);
  EXPECT_EQ(orders_.Used().bytes, 12u);
}

// ---- Dropping. ----

TEST_F(GivenOrdersTest, AnOrderIsKeptWhileItIsUsedAndAMinuteLonger) {
  const uint64_t name = Send({1}).value();
  auto used = orders_.Find(1000, name).value();
  orders_.PeerLeft(1);
  orders_.Tick(kStart);
  orders_.Tick(kStart + seconds(1000));
  EXPECT_EQ(orders_.Used().orders, 1u);

  used.reset();
  orders_.Tick(kStart + seconds(1001));
  orders_.Tick(kStart + seconds(1060));
  EXPECT_EQ(orders_.Used().orders, 1u);
  orders_.Tick(kStart + seconds(1061));

  EXPECT_EQ(orders_.Used().orders, 0u);
  EXPECT_EQ(orders_.Used().bytes, 0u);
}

TEST_F(GivenOrdersTest, AnOrderThatNoSessionUsedGoesWithTheLastProcessThatSentIt) {
  ASSERT_TRUE(Send({1}, {1000, 1}).ok());
  ASSERT_TRUE(Send({1}, {1000, 2}).ok());

  orders_.PeerLeft(1);
  EXPECT_EQ(orders_.Used().orders, 1u);
  orders_.PeerLeft(2);

  EXPECT_EQ(orders_.Used().orders, 0u);
}

TEST_F(GivenOrdersTest, WhoSendsAgainWhatIsAboutToGoKeepsIt) {
  const uint64_t name = Send({1}).value();
  orders_.Tick(kStart);
  ASSERT_TRUE(Send({1}).ok());
  orders_.Tick(kStart + seconds(60));

  EXPECT_TRUE(orders_.Find(1000, name).ok());
}

TEST_F(GivenOrdersTest, RoomIsMadeByDroppingWhatWasUsedLongestAgo) {
  const uint64_t old = Send({1}).value(), young = Send({2}).value(), unused = Send({3}).value();
  (void)orders_.Find(1000, old).value();
  orders_.Tick(kStart);
  (void)orders_.Find(1000, young).value();
  orders_.Tick(kStart + seconds(1));

  ASSERT_TRUE(Send({4}).ok());

  EXPECT_EQ(orders_.Find(1000, old).status().code(), Code::kNotFound);
  EXPECT_TRUE(orders_.Find(1000, young).ok());
  EXPECT_TRUE(orders_.Find(1000, unused).ok());
}

}  // namespace
}  // namespace penstock::app
