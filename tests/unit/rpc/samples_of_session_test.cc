// The samples that a session requests, and the width of their shuffle window.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/shm/doorway_wire.h"
#include "server/rpc/message_to_domain.h"

namespace penstock::rpc {
namespace {

using ::testing::HasSubstr;

v1::OpenSessionRequest DigitsRequest() {
  v1::OpenSessionRequest request;
  request.set_protocol_version(shm::kProtocolVersion);
  request.set_batch_size(32);
  request.mutable_feed()->set_dataset("digits");
  request.mutable_feed()->set_order(v1::ORDER_SHUFFLED);
  return request;
}

std::string Refusal(const v1::OpenSessionRequest& request) {
  const absl::Status status = SessionFrom(request).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(OrderTest, AWindowThatIsNotMeantOrWhoseShardsCannotBeIsRefused) {
  v1::OpenSessionRequest not_meant = DigitsRequest(), too_many = DigitsRequest();
  not_meant.mutable_feed()->mutable_shuffle_window();
  too_many.mutable_feed()->set_order(v1::ORDER_SHUFFLED_IN_WINDOWS);
  too_many.mutable_feed()->mutable_shuffle_window()->set_shard_samples(~0ull);

  EXPECT_THAT(Refusal(not_meant),
              HasSubstr("feed.shuffle_window: wanted none, because feed.order is ORDER_SHUFFLED"));
  EXPECT_THAT(Refusal(too_many),
              HasSubstr("feed.shuffle_window: a shard has 18446744073709551615 samples"));
}

TEST(OrderTest, WhoGaveAnOrderIsTakenAsSaidAndRefusedWhereItIsNoRankOrNothingWasGiven) {
  v1::OpenSessionRequest none = DigitsRequest(), request = DigitsRequest();
  none.mutable_feed()->mutable_given_by()->set_ranks(2);
  request.mutable_feed()->set_order(v1::ORDER_GIVEN);
  request.mutable_feed()->set_given_order(5);
  ASSERT_EQ(SessionFrom(request)->feed.given_by, plan::GivenBy{});
  request.mutable_feed()->mutable_given_by()->set_rank(2);
  request.mutable_feed()->mutable_given_by()->set_ranks(3);
  v1::OpenSessionRequest beyond = request;
  beyond.mutable_feed()->mutable_given_by()->set_ranks(2);

  EXPECT_THAT(Refusal(none),
              HasSubstr("feed.given_by: wanted none, because feed.order is ORDER_SH"));
  EXPECT_THAT(Refusal(beyond), HasSubstr("feed.given_by: the order was given by rank 2 of 2"));
  EXPECT_EQ(SessionFrom(request)->feed.given_by, (plan::GivenBy{.rank = 2, .ranks = 3}));
}

TEST(RangeTest, OneOfNothingAndOneThatEndsNowhereAreRefused) {
  v1::OpenSessionRequest empty = DigitsRequest(), endless = DigitsRequest();
  empty.mutable_feed()->mutable_range();
  endless.mutable_feed()->mutable_range()->set_first(5);
  endless.mutable_feed()->mutable_range()->set_count(~0ull);

  EXPECT_THAT(Refusal(empty), HasSubstr("feed.range: wanted at least one sample"));
  EXPECT_THAT(Refusal(endless), HasSubstr("got 18446744073709551615 from 5 on"));
}

TEST(OrderTest, AWindowHasSixteenShardsWhereNobodySaysMoreAndShardsAreTheDatasetsOwn) {
  v1::OpenSessionRequest request = DigitsRequest();
  request.mutable_feed()->set_order(v1::ORDER_SHUFFLED_IN_WINDOWS);
  const auto by_default = SessionFrom(request);
  request.mutable_feed()->mutable_shuffle_window()->set_shard_samples(1000);
  request.mutable_feed()->mutable_shuffle_window()->set_shards(4);
  const auto asked = SessionFrom(request);

  ASSERT_TRUE(by_default.ok() && asked.ok());
  EXPECT_EQ(by_default->feed.order, plan::Order::kShuffledInWindows);
  EXPECT_EQ(by_default->feed.windows, (plan::Windows{.shard_samples = 0, .shards = 16}));
  EXPECT_EQ(asked->feed.windows, (plan::Windows{.shard_samples = 1000, .shards = 4}));
}

TEST(RangeTest, ItIsTakenAsItIsAndNoneIsNone) {
  v1::OpenSessionRequest request = DigitsRequest();
  EXPECT_FALSE(SessionFrom(request)->feed.range.has_value());

  request.mutable_feed()->mutable_range()->set_first(50'000);
  request.mutable_feed()->mutable_range()->set_count(10'000);

  EXPECT_EQ(SessionFrom(request)->feed.range, (plan::Range{50'000, 10'000}));
}

}  // namespace
}  // namespace penstock::rpc
