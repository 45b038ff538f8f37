// The decoding time that users have used, and which user gives up a worker slot.
#include "server/feed/core/spending.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "server/feed/core/give_way.h"

namespace penstock::feed {
namespace {

using std::chrono::milliseconds;

constexpr UserId kLarge{1}, kSmall{2};

void Want(Spending& spending) {
  spending.Wants(kLarge, true);
  spending.Wants(kSmall, true);
  spending.Advance();
}

TEST(SpendingTest, WhatEndsCostsWhatItTookAndWhatHasNotWhatOnesTakesOnAverage) {
  Spending spending;
  Want(spending);
  spending.Given(kLarge, 2);
  spending.Ended(kLarge, 1, milliseconds(400));

  EXPECT_EQ(spending.Of(kLarge) - spending.Of(kSmall), milliseconds(800));
  spending.Ended(kLarge, 1, milliseconds(400));
  EXPECT_EQ(spending.Of(kLarge) - spending.Of(kSmall), milliseconds(800));
}

TEST(SpendingTest, WhoeverComesBackHasSavedUpNoMoreThanATurn) {
  Spending spending;
  Want(spending);
  spending.Wants(kSmall, false);
  for (int row = 0; row < 1000; ++row) {
    spending.Given(kLarge, 1);
    spending.Ended(kLarge, 1, milliseconds(10));
    spending.Wants(kLarge, true);
    spending.Advance();
  }

  spending.Wants(kSmall, true);

  EXPECT_EQ(spending.Of(kLarge) - spending.Of(kSmall), kTurn);
}

TEST(SpendingTest, WhoeverWaitsLosesNothingByIt) {
  Spending spending;
  Want(spending);
  for (int row = 0; row < 10; ++row) {
    spending.Given(kLarge, 1);
    spending.Ended(kLarge, 1, milliseconds(10));
    Want(spending);
  }

  EXPECT_EQ(spending.Of(kLarge) - spending.Of(kSmall), milliseconds(100));
}

TEST(SpendingTest, LeavingAndComingBackPaysNoDebt) {
  Spending spending;
  Want(spending);
  spending.Given(kLarge, 1);
  spending.Ended(kLarge, 1, milliseconds(500));
  spending.Wants(kLarge, false);
  spending.Advance();

  spending.Wants(kLarge, true);

  EXPECT_EQ(spending.Of(kLarge) - spending.Of(kSmall), milliseconds(500));
}

TEST(SpendingTest, ARowThatHangsIsPaidForWhileItHangs) {
  Spending spending;
  Want(spending);
  spending.Given(kLarge, 1);
  spending.Ended(kLarge, 1, milliseconds(1));
  spending.Given(kLarge, 1);

  spending.Occupied([](UserId user) { return milliseconds(user == kLarge ? 3000 : 0); });

  EXPECT_EQ(spending.Of(kLarge) - spending.Of(kSmall), milliseconds(3001));
  spending.Ended(kLarge, 1, milliseconds(3000));
  EXPECT_EQ(spending.Of(kLarge) - spending.Of(kSmall), milliseconds(3001));  // but only once
}

// A user who works alone, and one of whose rows hung, has many rows in progress that are expected
// to hang, too. They cost less; others who return are served first nevertheless.
TEST(SpendingTest, RowsThatWereExpectedToTakeLongGiveNoCreditAgainstWhoeverReturns) {
  Spending spending;
  Want(spending);
  spending.Wants(kSmall, false);
  spending.Given(kLarge, 1);
  spending.Ended(kLarge, 1, milliseconds(30'000));
  spending.Given(kLarge, 3);
  spending.Wants(kLarge, true);
  spending.Advance();
  spending.Ended(kLarge, 3, milliseconds(3));

  spending.Wants(kSmall, true);

  EXPECT_LT(spending.Of(kSmall), spending.Of(kLarge));
}

TEST(SpendingTest, AccountsThatSayNothingMoreAreForgotten) {
  Spending spending;
  for (uint32_t user = 10; user < 500; ++user) {
    spending.Wants(UserId(user), true);
    spending.Given(UserId(user), 1);
    spending.Ended(UserId(user), 1, milliseconds(1));
    spending.Wants(UserId(user), false);
    spending.Given(kLarge, 1);
    spending.Ended(kLarge, 1, milliseconds(100));
    spending.Wants(kLarge, true);
    spending.Advance();
  }

  EXPECT_LE(spending.accounts(), 3u);
}

// One row of 400 ms alternates with many of half a millisecond on one worker slot: each user gets
// half of the time.
TEST(SpendingTest, UsersShareTheTimeAndNotTheRows) {
  Spending spending;
  std::map<UserId, uint64_t> rows;
  std::map<UserId, milliseconds::rep> took;
  for (int turn = 0; turn < 100'000; ++turn) {
    Want(spending);
    const UserId next = spending.Of(kLarge) < spending.Of(kSmall) ? kLarge : kSmall;
    const base::Duration cost =
        next == kLarge ? base::Duration(milliseconds(400)) : std::chrono::microseconds(500);
    spending.Given(next, 1);
    spending.Ended(next, 1, cost);
    ++rows[next];
    took[next] += cost.count();
  }

  EXPECT_NEAR(static_cast<double>(took[kSmall]) / static_cast<double>(took[kLarge]), 1, 0.05);
  EXPECT_NEAR(static_cast<double>(rows[kSmall]) / static_cast<double>(rows[kLarge]), 800, 40);
}

// ---- Giving up a worker slot. ----

constexpr base::Duration kMuch = 10 * kTurn;

std::optional<UserId> Asked(const SlotHolder& waiting, const std::vector<SlotHolder>& holders) {
  return WhoGivesWay(waiting, holders);
}

TEST(GiveWayTest, WhoHasAllWorkerSlotsGivesThoseUpThatMakeItEven) {
  std::vector<SlotHolder> holders = {{.user = kLarge, .worker_slots = 8, .spent = kMuch}};
  while (Asked({.user = kSmall}, holders)) ++holders[0].giving_way;

  EXPECT_EQ(holders[0].giving_way, 4u);
}

TEST(GiveWayTest, UsersWithAsManyWorkerSlotsChangeNothing) {
  const SlotHolder waiting = {.user = kSmall, .worker_slots = 1};

  EXPECT_EQ(Asked(waiting, {{.user = kLarge, .worker_slots = 1, .spent = kMuch}, waiting}),
            std::nullopt);
}

TEST(GiveWayTest, WorkersSetAsideCountButCannotBeGivenUp) {
  const SlotHolder waiting = {.user = kSmall, .worker_slots = 1};
  SlotHolder other = {.user = kLarge, .worker_slots = 1, .set_aside = 1, .spent = kMuch};

  EXPECT_EQ(Asked(waiting, {other, waiting}), kLarge);
  other = {.user = kLarge, .set_aside = 2, .spent = kMuch};
  EXPECT_EQ(Asked(waiting, {other, waiting}), std::nullopt);
  EXPECT_EQ(Asked({.user = kSmall, .set_aside = 1}, {{.user = kLarge, .worker_slots = 1}}),
            std::nullopt);
}

TEST(GiveWayTest, TheOddWorkerSlotGoesRound) {
  const SlotHolder waiting = {.user = kSmall, .worker_slots = 1};
  SlotHolder other = {.user = kLarge, .worker_slots = 2, .spent = kTurn};

  EXPECT_EQ(Asked(waiting, {other, waiting}), kLarge);
  other.spent = kTurn - std::chrono::nanoseconds(1);  // it is less than a turn ahead
  EXPECT_EQ(Asked(waiting, {other, waiting}), std::nullopt);
}

TEST(GiveWayTest, OfOneWorkerSlotEverybodyHasATurn) {
  EXPECT_EQ(Asked({.user = kSmall}, {{.user = kLarge, .worker_slots = 1, .spent = kTurn}}), kLarge);
  EXPECT_EQ(Asked({.user = kSmall},
                  {{.user = kLarge, .worker_slots = 1, .giving_way = 1, .spent = kMuch}}),
            std::nullopt);
}

TEST(GiveWayTest, AmongSeveralTheOneWithTheMostDoes) {
  EXPECT_EQ(Asked({.user = kSmall}, {{.user = UserId(7), .worker_slots = 1, .spent = 2 * kMuch},
                                     {.user = kLarge, .worker_slots = 3, .spent = kMuch}}),
            kLarge);
}

}  // namespace
}  // namespace penstock::feed
