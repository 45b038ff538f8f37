#include "server/source/core/retry_policy.h"

#include <gtest/gtest.h>

namespace penstock::source {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RetryPolicyTest, AfterTheTotalThereIsNoFurtherAttempt) {
  const RetryPolicy policy;

  EXPECT_EQ(policy.WaitAfter(70, seconds(60)), std::nullopt);
  EXPECT_EQ(policy.WaitAfter(70, seconds(61)), std::nullopt);
}

TEST(RetryPolicyTest, ATotalOfZeroNeverTriesAgain) {
  const RetryPolicy policy{.total = seconds(0)};

  EXPECT_EQ(policy.WaitAfter(1, seconds(0)), std::nullopt);
}

TEST(RetryPolicyTest, WaitsDoubleFromTheFirstToTheLongest) {
  const RetryPolicy policy;

  EXPECT_EQ(policy.WaitAfter(1, seconds(0)), milliseconds(10));
  EXPECT_EQ(policy.WaitAfter(2, seconds(0)), milliseconds(20));
  EXPECT_EQ(policy.WaitAfter(7, seconds(0)), milliseconds(640));
  EXPECT_EQ(policy.WaitAfter(8, seconds(0)), seconds(1));
  EXPECT_EQ(policy.WaitAfter(4'000'000'000, seconds(0)), seconds(1));
}

TEST(RetryPolicyTest, TheLastWaitEndsWithTheTotal) {
  const RetryPolicy policy;

  EXPECT_EQ(policy.WaitAfter(60, milliseconds(59'700)), milliseconds(300));
}

TEST(RetryPolicyTest, TheFirstWaitIsNeverLongerThanTheLongest) {
  const RetryPolicy policy{.first = seconds(5), .longest = seconds(1)};

  EXPECT_EQ(policy.WaitAfter(1, seconds(0)), seconds(1));
}

TEST(RetryPolicyTest, AllWaitsTogetherTakeTheTotal) {
  const RetryPolicy policy;

  base::Duration waited{0};
  uint32_t failures = 0;
  while (const auto wait = policy.WaitAfter(++failures, waited)) waited += *wait;

  EXPECT_EQ(waited, policy.total);
  // Seven doublings, 58 whole seconds, the rest, and the attempt after which it gives up.
  EXPECT_EQ(failures, 67u);
}

}  // namespace
}  // namespace penstock::source
