#include "server/feed/fill/worker_losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::feed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

WorkerLosses::Options SmallBudget() {
  return {.budget = {.restarts = 3, .window = seconds(60)},
          .back_off = {.first = milliseconds(100), .longest = seconds(10)}};
}

class WorkerLossesTest : public ::testing::Test {
 protected:
  // Uses up the budget of deaths. Returns the status of the death that exceeds it.
  absl::Status Spend(const std::string& dataset, uint32_t user) {
    const uint64_t account = losses_.AccountOf(dataset, user, now_);
    for (int death = 0; death < 3; ++death)
      EXPECT_TRUE(losses_.Died(account, "killed by signal 9", now_).ok());
    return losses_.Died(account, "killed by signal 9", now_);
  }

  base::TimePoint now_ = base::TimePoint(seconds(1000));
  WorkerLosses losses_ = WorkerLosses(SmallBudget());
};

TEST_F(WorkerLossesTest, ADatasetThatSpendsItsBudgetIsNamedWithWhatToDo) {
  const absl::Status spent = Spend("photographs", 1000);

  EXPECT_EQ(spent.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(spent.message()),
              AllOf(HasSubstr("'photographs'"), HasSubstr("user 1000"), HasSubstr("more than 3"),
                    HasSubstr("killed by signal 9"), HasSubstr("in 60 s")));
}

TEST_F(WorkerLossesTest, ItFailsAlone) {
  EXPECT_FALSE(Spend("photographs", 1000).ok());

  EXPECT_FALSE(losses_.MayOpen("photographs", 1000, now_).ok());
  EXPECT_TRUE(losses_.MayOpen("others", 1000, now_).ok());
  EXPECT_TRUE(losses_.MayOpen("photographs", 1001, now_).ok());
  EXPECT_TRUE(losses_.status().ok());
}

TEST_F(WorkerLossesTest, AfterAWhileItMayBeOpenedAgain) {
  EXPECT_FALSE(Spend("photographs", 1000).ok());

  now_ += seconds(59);
  EXPECT_THAT(std::string(losses_.MayOpen("photographs", 1000, now_).message()),
              HasSubstr("in 1 s"));
  now_ += seconds(1);
  EXPECT_TRUE(losses_.MayOpen("photographs", 1000, now_).ok());
  EXPECT_TRUE(losses_.Died(losses_.AccountOf("photographs", 1000, now_), "", now_).ok());
}

TEST_F(WorkerLossesTest, ItsRowsWaitEverLongerAndNobodyElses) {
  const uint64_t bad = losses_.AccountOf("bad", 1000, now_);
  const uint64_t good = losses_.AccountOf("good", 1000, now_);

  EXPECT_TRUE(losses_.Died(bad, "", now_).ok());
  EXPECT_TRUE(losses_.IsPaused(bad, now_ + milliseconds(99)));
  EXPECT_FALSE(losses_.IsPaused(bad, now_ + milliseconds(100)));
  EXPECT_FALSE(losses_.IsPaused(good, now_));
  now_ += milliseconds(100);
  EXPECT_TRUE(losses_.Died(bad, "", now_).ok());
  EXPECT_TRUE(losses_.IsPaused(bad, now_ + milliseconds(199)));

  losses_.WentWell(bad);
  now_ += seconds(1);
  EXPECT_TRUE(losses_.Died(bad, "", now_).ok());
  EXPECT_FALSE(losses_.IsPaused(bad, now_ + milliseconds(100)));
}

TEST_F(WorkerLossesTest, OneUserCannotEndItForAllHoweverManyDatasetsItHas) {
  for (int dataset = 0; dataset < 50; ++dataset)
    EXPECT_FALSE(Spend(absl::StrCat("dataset", dataset), 1000).ok());

  EXPECT_TRUE(losses_.status().ok());
}

TEST_F(WorkerLossesTest, ManyUsersOfOneDatasetDoNotEndItForAll) {
  for (uint32_t user = 0; user < 50; ++user) EXPECT_FALSE(Spend("poisoned", user).ok());

  EXPECT_TRUE(losses_.status().ok());
}

TEST_F(WorkerLossesTest, ManyDatasetsOfManyUsersAtOnceAreTheMachinesTrouble) {
  EXPECT_FALSE(Spend("a", 1).ok());
  EXPECT_FALSE(Spend("b", 2).ok());
  EXPECT_TRUE(losses_.status().ok());
  now_ += seconds(61);
  EXPECT_FALSE(Spend("c", 3).ok());  // the others have expired
  EXPECT_TRUE(losses_.status().ok());
  EXPECT_FALSE(Spend("a", 1).ok());
  EXPECT_FALSE(Spend("b", 2).ok());

  EXPECT_EQ(losses_.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(losses_.status().message()), HasSubstr("3 datasets of 3 users"));
}

// This status is shown to everybody, but a death's reason names a user's sample.
TEST_F(WorkerLossesTest, WhatEverybodyIsToldNamesNobodysSample) {
  const char* const reason = "killed by signal 9 with sample 7 (/home/ann/seven.jpg) in hand";
  for (uint32_t user = 1; user <= 3; ++user) {
    const uint64_t account = losses_.AccountOf(absl::StrCat("set", user), user, now_);
    for (int death = 0; death < 4; ++death) losses_.Died(account, reason, now_).IgnoreError();
  }

  ASSERT_FALSE(losses_.status().ok());
  EXPECT_THAT(std::string(losses_.status().message()), Not(HasSubstr("ann")));
  EXPECT_THAT(std::string(losses_.MayOpen("set1", 1, now_).message()), HasSubstr("ann"));
}

TEST_F(WorkerLossesTest, AUserIsToldOfADatasetByTheNameThatItUsed) {
  const uint64_t account = losses_.AccountOf("anns-secret", 1000, now_, "flowers");
  for (int death = 0; death < 4; ++death) losses_.Died(account, "", now_).IgnoreError();

  const std::string told(losses_.MayOpen("anns-secret", 1000, now_).message());
  EXPECT_THAT(told, HasSubstr("dataset 'flowers'"));
  EXPECT_THAT(told, Not(HasSubstr("anns-secret")));
}

TEST_F(WorkerLossesTest, WhatIsRememberedIsBounded) {
  for (uint32_t user = 0; user < 10'000; ++user) {
    losses_.AccountOf("each", user, now_);
    now_ += seconds(1);
  }

  EXPECT_LE(losses_.accounts(), 1'100u);
}

}  // namespace
}  // namespace penstock::feed
