#include "tests/bench/harness/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::bench {
namespace {

using ::testing::ElementsAre;

// Appends its name to `order`, and returns the values one after another.
Run Noting(std::string* order, char name, std::vector<double> values) {
  return [=, next = size_t{0}]() mutable -> absl::StatusOr<double> {
    *order += name;
    return values.at(next++);
  };
}

TEST(MedianDeathTest, NothingHasNoMedian) { EXPECT_DEATH(Median({}), "empty"); }

TEST(MedianTest, IsTheMiddleOneHoweverFarOffTheOthersAre) {
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Median({1000, 2, -1000, 3, 1}), 2);
}

TEST(MedianTest, OfAnEvenNumberIsBetweenTheMiddleTwo) { EXPECT_EQ(Median({4, 100, 1, 3}), 3.5); }

TEST(AlternatingMediansTest, AnErrorEndsThemAtOnce) {
  std::string order;
  const bench::Run failing = []() -> absl::StatusOr<double> {
    return absl::DataLossError("no disk");
  };

  const auto medians = AlternatingMedians({failing, Noting(&order, 'a', {1})}, 3);

  EXPECT_EQ(medians.status(), absl::DataLossError("no disk"));
  EXPECT_EQ(order, "");
}

TEST(AlternatingMediansTest, RunsTakeTurnsAndNobodyIsAlwaysFirst) {
  std::string order;

  const auto medians =
      AlternatingMedians({Noting(&order, 'a', {1, 1, 1, 1}), Noting(&order, 'b', {1, 1, 1, 1})}, 3);

  ASSERT_TRUE(medians.ok());
  EXPECT_EQ(order, "abbaabba");
}

TEST(AlternatingMediansTest, TheFirstOfEachIsToWarmUpAndDoesNotCount) {
  std::string order;

  const auto medians = AlternatingMedians(
      {Noting(&order, 'a', {900, 1, 3, 2}), Noting(&order, 'b', {-900, 30, 20, 10})}, 3);

  EXPECT_THAT(*medians, ElementsAre(2, 20));
}

}  // namespace
}  // namespace penstock::bench
