#include "server/feed/core/fault_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::feed {
namespace {

using ::testing::HasSubstr;

TEST(FaultPolicyTest, TooManyBadSamplesFailTheFeedWithTheNumbersAndWhatToDo) {
  FaultPolicy policy(50'000);
  for (uint64_t sample = 0; sample < 50; ++sample) policy.OnRefused(sample);
  EXPECT_TRUE(policy.Exhausted().ok());

  policy.OnRefused(50);

  const absl::Status status = policy.Exhausted();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("51 of the dataset's 50000 could not be used, and at most 50 may be "
                        "(max_quarantined: 0.1 % of them, at least 10)"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("penstockctl quarantine"));
}

TEST(FaultPolicyTest, ASmallDatasetMayHaveTenBadSamples) {
  FaultPolicy policy(200);
  for (uint64_t sample = 0; sample < 10; ++sample) policy.OnRefused(sample);
  EXPECT_TRUE(policy.Exhausted().ok());

  policy.OnRefused(10);

  EXPECT_FALSE(policy.Exhausted().ok());
}

TEST(FaultPolicyTest, ADatasetWithoutOneGoodSampleFailsWhateverTheBudget) {
  FaultPolicy policy(3);
  policy.OnRefused(0);
  policy.OnRefused(1);
  EXPECT_TRUE(policy.Exhausted().ok());

  policy.OnRefused(2);

  EXPECT_THAT(std::string(policy.Exhausted().message()),
              HasSubstr("3 of the dataset's 3 could not be used, and at most 2 may be"));
}

TEST(FaultPolicyTest, ShareAndMinimumAreConfigured) {
  FaultPolicy none(100, {.max_quarantined_share = 0, .max_quarantined_minimum = 0});
  FaultPolicy half(100, {.max_quarantined_share = 0.5, .max_quarantined_minimum = 0});
  EXPECT_TRUE(none.Exhausted().ok());
  EXPECT_EQ(half.max_quarantined(), 50u);

  none.OnRefused(5);

  EXPECT_FALSE(none.Exhausted().ok());
}

TEST(FaultPolicyTest, TheFirstStrikeIsRetriedAndTheSecondQuarantines) {
  FaultPolicy policy(1000);

  EXPECT_EQ(policy.OnStrike(7), Verdict::kRetry);
  EXPECT_EQ(policy.bad_samples(), 0u);
  EXPECT_EQ(policy.OnStrike(8), Verdict::kRetry);
  EXPECT_EQ(policy.OnStrike(7), Verdict::kQuarantine);
  EXPECT_EQ(policy.OnStrike(7), Verdict::kQuarantine);
  EXPECT_EQ(policy.bad_samples(), 1u);
}

TEST(FaultPolicyTest, ASampleThatWasDecodedAfterAStrikeIsInnocent) {
  FaultPolicy policy(1000);
  policy.OnStrike(7);

  policy.OnDecoded(7);

  EXPECT_EQ(policy.OnStrike(7), Verdict::kRetry);
}

TEST(FaultPolicyTest, ASampleCountsOnceHoweverOftenItIsRefused) {
  FaultPolicy policy(1000);
  for (int i = 0; i < 100; ++i) policy.OnRefused(3);
  policy.OnStrike(3);

  EXPECT_EQ(policy.bad_samples(), 1u);
}

TEST(FaultPolicyTest, ClearedItBeginsAnew) {
  FaultPolicy policy(5);
  for (uint64_t sample = 0; sample < 5; ++sample) policy.OnRefused(sample);

  policy.Clear();

  EXPECT_TRUE(policy.Exhausted().ok());
  EXPECT_EQ(policy.OnStrike(1), Verdict::kRetry);
}

TEST(FaultPolicyTest, OtherLimitsHoldForWhatIsBadAlready) {
  FaultPolicy policy(100, {.max_quarantined_share = 0, .max_quarantined_minimum = 2});
  for (uint64_t sample = 0; sample < 5; ++sample) policy.OnRefused(sample);
  ASSERT_TRUE(policy.TooMany());

  policy.SetOptions({.max_quarantined_share = 0.04, .max_quarantined_minimum = 0});
  EXPECT_FALSE(policy.TooMany());
  for (uint64_t sample = 0; sample < 5; ++sample) policy.OnRefused(sample);
  EXPECT_TRUE(policy.TooMany());
  policy.SetOptions({.max_quarantined_share = 0.05, .max_quarantined_minimum = 0});
  EXPECT_FALSE(policy.TooMany());
  policy.SetOptions({.max_quarantined_share = 0, .max_quarantined_minimum = 4});
  EXPECT_TRUE(policy.TooMany());
}

TEST(FaultPolicyTest, WhatItRemembersIsBoundedByTheBudget) {
  FaultPolicy policy(1'000'000);
  for (uint64_t sample = 0; sample < 100'000; ++sample) policy.OnRefused(sample);

  EXPECT_EQ(policy.bad_samples(), 1001u);
}

}  // namespace
}  // namespace penstock::feed
