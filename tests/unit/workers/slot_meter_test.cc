#include "server/workers/slots/slot_meter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "server/workers/slots/item_times.h"

namespace penstock::workers {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::TimePoint kStart{seconds(100)};

TEST(UtilisationTest, ItIsTheBusyShareOfTheTimeThatPassed) {
  Utilisation utilisation;
  utilisation.Restart(kStart);

  utilisation.Update(kStart + milliseconds(249), 249'000'000);
  EXPECT_EQ(utilisation.value(), 0);
  utilisation.Update(kStart + seconds(2), 500'000'000);
  EXPECT_DOUBLE_EQ(utilisation.value(), 0.25);
  utilisation.Update(kStart + seconds(3), 1'500'000'000);
  EXPECT_DOUBLE_EQ(utilisation.value(), 1.0);
}

TEST(UtilisationTest, ALongSampleThatEndsIsShownInFull) {
  Utilisation utilisation;
  utilisation.Restart(kStart);

  utilisation.Update(kStart + seconds(1), 0);
  EXPECT_EQ(utilisation.value(), 0);
  utilisation.Update(kStart + seconds(2), 2'500'000'000);
  EXPECT_EQ(utilisation.value(), 1);
  utilisation.Update(kStart + seconds(3), 2'500'000'000);
  EXPECT_EQ(utilisation.value(), 1);
  utilisation.Update(kStart + seconds(4), 2'500'000'000);
  EXPECT_DOUBLE_EQ(utilisation.value(), 0.5);
}

TEST(UtilisationTest, AWorkersNonsenseStaysBetweenNothingAndAll) {
  Utilisation utilisation;
  utilisation.Restart(kStart);

  utilisation.Update(kStart + seconds(1), UINT64_MAX);
  EXPECT_EQ(utilisation.value(), 1.0);
  utilisation.Update(kStart + seconds(2), 0);
  EXPECT_EQ(utilisation.value(), 0.0);
}

TEST(SlotMeterTest, TheTimeIsChargedToTheFirstOfThoseThatEndTogether) {
  SlotMeter meter;
  meter.Take(kStart);
  meter.Take(kStart + milliseconds(5));  // at the same time as the first
  std::vector<Outcome> outcomes(2);

  const base::Duration each = meter.Charge(outcomes, kStart + milliseconds(10));

  EXPECT_EQ(outcomes[0].times.taken, milliseconds(10));
  EXPECT_EQ(outcomes[1].times.taken, base::Duration::zero());
  EXPECT_EQ(each, milliseconds(5));
}

TEST(SlotMeterTest, NoTimeIsChargedTwice) {
  SlotMeter meter;
  meter.Take(kStart);
  std::vector<Outcome> first(1), second(1);

  meter.Charge(first, kStart + milliseconds(10));
  meter.Charge(second, kStart + milliseconds(13));

  EXPECT_EQ(second[0].times.taken, milliseconds(3));
}

TEST(SlotMeterTest, IdleTimeIsChargedToNobody) {
  SlotMeter meter;
  meter.Take(kStart);
  std::vector<Outcome> first(1), second(1);
  meter.Charge(first, kStart + milliseconds(10));
  meter.Free();

  meter.Take(kStart + seconds(60));
  meter.Charge(second, kStart + seconds(60) + milliseconds(2));

  EXPECT_EQ(second[0].times.taken, milliseconds(2));
}

TEST(SlotMeterTest, WhatWasReadAsideCostsItsDecodingAlone) {
  SlotMeter meter;
  std::vector<Outcome> outcomes(1);
  outcomes[0].times.decode = milliseconds(4);

  EXPECT_EQ(meter.Charge(outcomes, kStart), milliseconds(4));
}

TEST(SlotMeterTest, RowsThatAreDoneCount) {
  SlotMeter meter;
  std::vector<Outcome> outcomes = {
      {.kind = OutcomeKind::kDone}, {.kind = OutcomeKind::kStrike}, {.kind = OutcomeKind::kDone}};

  meter.Charge(outcomes, kStart);

  EXPECT_EQ(meter.decoded(), 2u);
}

TEST(ItemTimesTest, ATurnHoldsAsManyItemsAsAreDoneInIt) {
  ItemTimes times;
  times.Note(7, milliseconds(10));

  EXPECT_EQ(times.Depth(7, milliseconds(25), 16), 2u);
  EXPECT_EQ(times.Depth(7, milliseconds(5), 16), 1u);
  EXPECT_EQ(times.Depth(7, seconds(1), 16), 16u);
}

TEST(ItemTimesTest, AUserThatIsNotKnownGetsOne) {
  ItemTimes times;
  times.Add(8);

  EXPECT_EQ(times.Depth(7, seconds(1), 16), 1u);
  EXPECT_EQ(times.Depth(8, seconds(1), 16), 1u);
}

TEST(ItemTimesTest, TheMeanFollowsByQuarters) {
  ItemTimes times;
  times.Note(7, milliseconds(4));
  times.Note(7, milliseconds(8));

  EXPECT_EQ(times.Depth(7, milliseconds(50), 16), 10u);  // 5 ms each
}

TEST(ItemTimesTest, WhoIsGoneIsForgotten) {
  ItemTimes times;
  times.Note(7, milliseconds(1));
  times.Note(8, milliseconds(1));

  times.ForgetIf([](uint32_t user) { return user == 7; });

  EXPECT_EQ(times.Depth(7, milliseconds(10), 16), 1u);
  EXPECT_EQ(times.Depth(8, milliseconds(10), 16), 10u);
}

}  // namespace
}  // namespace penstock::workers
