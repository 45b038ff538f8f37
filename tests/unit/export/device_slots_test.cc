#include "server/export/device_slots.h"

#include <gtest/gtest.h>

namespace penstock::exporting {
namespace {

using Found = DeviceSlots::Found;
using Counts = DeviceSlots::Counts;

constexpr uint64_t kSmallSlot = 4096;

Content Batch(uint32_t number) { return {.slot = number, .generation = 1}; }

class DeviceSlotsTest : public ::testing::Test {
 protected:
  DeviceSlotsTest() { slots_.AddSlab(7, 3 * kSmallSlot); }

  // A copied batch with one holder.
  DeviceSlotId Held(uint32_t number) {
    const DeviceSlotId id = slots_.Take(Batch(number))->id;
    slots_.Copied(id);
    return id;
  }
  // A copied batch without a holder.
  DeviceSlotId Cached(uint32_t number) {
    const DeviceSlotId id = Held(number);
    slots_.LetGo(id);
    return id;
  }

  DeviceSlots slots_{kSmallSlot};
};

TEST_F(DeviceSlotsTest, WithoutASlabThereIsNoSlot) {
  EXPECT_FALSE(DeviceSlots(kSmallSlot).Take(Batch(1)).has_value());
}

TEST_F(DeviceSlotsTest, WhatIsHeldOrCopiedToIsNeverGivenToOthers) {
  Held(1);
  Held(2);
  slots_.Take(Batch(3));

  EXPECT_FALSE(slots_.Take(Batch(4)).has_value());
}

TEST_F(DeviceSlotsTest, ASlabIsCutFromItsStartIntoWholeSlots) {
  DeviceSlots slots(kSmallSlot);
  slots.AddSlab(9, 2 * kSmallSlot + 100);

  EXPECT_EQ(slots.size(), 2u);
  EXPECT_EQ(slots.PlaceOf(slots.Take(Batch(1))->id), (DevicePlace{9, 0}));
  EXPECT_EQ(slots.PlaceOf(slots.Take(Batch(2))->id), (DevicePlace{9, kSmallSlot}));
}

TEST_F(DeviceSlotsTest, WhoeverWantsTheSameBatchGetsTheSameSlotAndOneCopyIsMade) {
  const auto first = slots_.Take(Batch(1)), second = slots_.Take(Batch(1));
  slots_.Copied(first->id);
  const auto third = slots_.Take(Batch(1));

  EXPECT_EQ(first->found, Found::kMustBeCopied);
  EXPECT_EQ(second->found, Found::kComing);
  EXPECT_EQ(third->found, Found::kReady);
  EXPECT_EQ(first->id, second->id);
  EXPECT_EQ(first->id, third->id);
}

TEST_F(DeviceSlotsTest, AnotherGenerationOfAHostSlotIsAnotherBatch) {
  Held(1);

  const auto taken = slots_.Take({.slot = 1, .generation = 2});

  EXPECT_EQ(taken->found, Found::kMustBeCopied);
}

TEST_F(DeviceSlotsTest, ASlotIsReadyOnceItsCopyIsComplete) {
  const DeviceSlotId id = slots_.Take(Batch(1))->id;
  EXPECT_FALSE(slots_.Ready(id));

  slots_.Copied(id);

  EXPECT_TRUE(slots_.Ready(id));
}

TEST_F(DeviceSlotsTest, WhatNobodyHeldWhenItsCopyCompletedIsForgotten) {
  const DeviceSlotId id = slots_.Take(Batch(1))->id;
  slots_.LetGo(id);
  EXPECT_EQ(slots_.Count().copying, 1u);

  slots_.Copied(id);

  EXPECT_EQ(slots_.Count(), (Counts{.slots = 3, .free = 3}));
  EXPECT_EQ(slots_.Take(Batch(1))->found, Found::kMustBeCopied);
}

TEST_F(DeviceSlotsTest, AHolderThatCameBeforeTheEndOfTheCopyKeepsIt) {
  const DeviceSlotId id = slots_.Take(Batch(1))->id;
  slots_.LetGo(id);
  slots_.Take(Batch(1));

  slots_.Copied(id);

  EXPECT_TRUE(slots_.Ready(id));
  EXPECT_EQ(slots_.Count().held, 1u);
}

TEST_F(DeviceSlotsTest, ReleasedBatchesStayAsACacheTheLeastRecentlyHeldOutFirst) {
  Cached(1);
  Cached(2);
  Cached(3);
  slots_.LetGo(slots_.Take(Batch(1))->id);  // now 2 is the least recently used

  slots_.Take(Batch(4));

  EXPECT_EQ(slots_.Take(Batch(1))->found, Found::kReady);
  EXPECT_EQ(slots_.Take(Batch(3))->found, Found::kReady);
  EXPECT_FALSE(slots_.Take(Batch(2)).has_value());
}

TEST_F(DeviceSlotsTest, AFreeSlotIsTakenBeforeACachedOne) {
  Cached(1);

  Held(2);
  Held(3);

  EXPECT_EQ(slots_.Take(Batch(1))->found, Found::kReady);
}

TEST_F(DeviceSlotsTest, ASlabWithAHeldSlotOrACopyUnderWayCannotBeSpared) {
  const DeviceSlotId id = slots_.Take(Batch(1))->id;
  EXPECT_FALSE(slots_.CanSpare(7));
  slots_.Copied(id);
  EXPECT_FALSE(slots_.CanSpare(7));

  slots_.LetGo(id);

  EXPECT_TRUE(slots_.CanSpare(7));
}

TEST_F(DeviceSlotsTest, ASlabThatReservationsNeedCannotBeSpared) {
  slots_.Reserve(2);
  EXPECT_FALSE(slots_.CanSpare(7));
  slots_.AddSlab(8, 2 * kSmallSlot);
  EXPECT_TRUE(slots_.CanSpare(7));
  EXPECT_TRUE(slots_.CanSpare(8));

  slots_.Reserve(1);

  EXPECT_FALSE(slots_.CanSpare(7));
  EXPECT_TRUE(slots_.CanSpare(8));
}

TEST_F(DeviceSlotsTest, ARemovedSlabTakesItsCacheWithIt) {
  Cached(1);

  slots_.RemoveSlab(7);

  EXPECT_EQ(slots_.Count(), Counts());
  EXPECT_FALSE(slots_.Take(Batch(1)).has_value());
}

TEST_F(DeviceSlotsTest, WithoutACacheTheLastHolderLeavesNothing) {
  DeviceSlots slots(kSmallSlot, DeviceSlots::Unheld::kForget);
  slots.AddSlab(7, kSmallSlot);
  const DeviceSlotId id = slots.Take(Batch(1))->id;
  slots.Take(Batch(1));
  slots.Copied(id);

  EXPECT_FALSE(slots.LetGo(id));
  EXPECT_TRUE(slots.LetGo(id));

  EXPECT_EQ(slots.Take(Batch(1))->found, Found::kMustBeCopied);
}

}  // namespace
}  // namespace penstock::exporting
