#include "server/workers/slots/slot_choice.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock::workers {
namespace {

constexpr uint32_t kAnn = 1, kBob = 2;
constexpr uint32_t kAll = UINT32_MAX;

SlotLoad Unused() { return {.is_open = true}; }
SlotLoad Of(uint32_t user, size_t outstanding) {
  return {.is_open = true, .user = user, .outstanding = outstanding};
}
SlotLoad Yielding(uint32_t user, size_t outstanding) {
  return {.is_open = true, .gives_way = true, .user = user, .outstanding = outstanding};
}
SlotLoad Down() { return {.is_open = false}; }

using Slots = std::vector<SlotLoad>;

TEST(SlotChoiceTest, HeadroomIsWhatOwnSlotsLackAndFreeOnesTake) {
  const Slots slots = {Of(kAnn, 1), Of(kBob, 3), Unused(), Of(kBob, 0), Down()};

  EXPECT_EQ(HeadroomFor(slots, kAnn, /*depth=*/3, kAll), 2u + 3 + 3);
  EXPECT_EQ(HeadroomFor(slots, kBob, 3, kAll), 0u + 3 + 3);
}

TEST(SlotChoiceTest, HeadroomHasNoMoreSlotsThanTheUsersShare) {
  const Slots slots = {Of(kAnn, 1), Unused(), Unused()};

  EXPECT_EQ(HeadroomFor(slots, kAnn, 3, /*most_worker_slots=*/2), 2u + 3);
  EXPECT_EQ(HeadroomFor(slots, kAnn, 3, 1), 2u);
  EXPECT_EQ(HeadroomFor(slots, kAnn, 3, 0), 2u);  // it may use the slots that it has
}

TEST(SlotChoiceTest, ASlotThatGivesWayHasNoHeadroomAndIsNotChosen) {
  const Slots slots = {Yielding(kAnn, 1)};

  EXPECT_EQ(HeadroomFor(slots, kAnn, 3, kAll), 0u);
  EXPECT_EQ(ChooseSlot(slots, kAnn, 3, kAll), std::nullopt);
}

TEST(SlotChoiceTest, AShallowerDepthThanWhatIsThereIsNoDebt) {
  EXPECT_EQ(HeadroomFor(Slots{Of(kAnn, 5)}, kAnn, 2, kAll), 0u);
}

TEST(SlotChoiceTest, FreeSlotsComeBeforeBusyOnes) {
  EXPECT_EQ(ChooseSlot(Slots{Of(kAnn, 1), Unused()}, kAnn, 3, kAll), 1u);
}

TEST(SlotChoiceTest, OfFreeSlotsTheOwnThenNobodysThenAnothers) {
  EXPECT_EQ(ChooseSlot(Slots{Of(kBob, 0), Unused(), Of(kAnn, 0)}, kAnn, 3, kAll), 2u);
  EXPECT_EQ(ChooseSlot(Slots{Of(kBob, 0), Unused()}, kAnn, 3, kAll), 1u);
  EXPECT_EQ(ChooseSlot(Slots{Of(kBob, 0)}, kAnn, 3, kAll), 0u);
}

TEST(SlotChoiceTest, TheOwnSlotWithTheLeastToDoUpToTheDepth) {
  EXPECT_EQ(ChooseSlot(Slots{Of(kAnn, 2), Of(kAnn, 1)}, kAnn, 3, kAll), 1u);
  EXPECT_EQ(ChooseSlot(Slots{Of(kAnn, 3), Of(kAnn, 3)}, kAnn, 3, kAll), std::nullopt);
}

TEST(SlotChoiceTest, NoFreeSlotIsTakenBeyondTheUsersShare) {
  const Slots slots = {Of(kAnn, 1), Unused(), Of(kAnn, 0)};

  EXPECT_EQ(ChooseSlot(slots, kAnn, 3, /*most_worker_slots=*/1), 0u);
  EXPECT_EQ(ChooseSlot(slots, kAnn, 3, 2), 2u);
  EXPECT_EQ(ChooseSlot(Slots{Of(kAnn, 3), Unused()}, kAnn, 3, 1), std::nullopt);
}

TEST(SlotChoiceTest, AnothersBusySlotIsNotTaken) {
  EXPECT_EQ(ChooseSlot(Slots{Of(kBob, 1), Down()}, kAnn, 3, kAll), std::nullopt);
}

TEST(SlotChoiceTest, TheSoonestFreeGivesWayAndThenTheNext) {
  Slots slots = {Of(kAnn, 3), Of(kAnn, 1), Of(kBob, 1), Of(kAnn, 0)};

  EXPECT_EQ(ChooseToGiveWay(slots, kAnn), 1u);
  slots[1].gives_way = true;
  EXPECT_EQ(ChooseToGiveWay(slots, kAnn), 0u);
  slots[0].gives_way = true;
  EXPECT_EQ(ChooseToGiveWay(slots, kAnn), std::nullopt);
}

TEST(SlotChoiceTest, HoldingsAreOfUsersWithSomethingToDo) {
  SlotLoad retiring = Of(kBob, 1);
  retiring.is_retiring = true;
  const std::vector<SlotHolding> holdings =
      ToHoldings(Slots{Of(kBob, 1), Yielding(kAnn, 2), Of(kAnn, 1), Of(kAnn, 0), retiring});

  ASSERT_EQ(holdings.size(), 2u);
  EXPECT_EQ(holdings[0].user, kAnn);
  EXPECT_EQ(holdings[0].worker_slots, 2u);
  EXPECT_EQ(holdings[0].giving_way, 1u);
  EXPECT_EQ(holdings[1].user, kBob);
  EXPECT_EQ(holdings[1].worker_slots, 1u);
}

TEST(SlotChoiceTest, HoldingsCountWorkersSetAsideAndTheTimeThatIsNotCharged) {
  SlotLoad busy = Of(kAnn, 1);
  busy.uncharged = std::chrono::seconds(1);
  const std::vector<AsideLoad> aside = {{.user = kAnn, .uncharged = std::chrono::seconds(2)},
                                        {.user = kBob, .uncharged = std::chrono::seconds(4)}};

  const std::vector<SlotHolding> holdings = ToHoldings(Slots{busy}, aside);

  ASSERT_EQ(holdings.size(), 2u);
  EXPECT_EQ(holdings[0].worker_slots, 1u);
  EXPECT_EQ(holdings[0].set_aside, 1u);
  EXPECT_EQ(holdings[0].uncharged, std::chrono::seconds(3));
  EXPECT_EQ(holdings[1].worker_slots, 0u);
  EXPECT_EQ(holdings[1].set_aside, 1u);
}

}  // namespace
}  // namespace penstock::workers
