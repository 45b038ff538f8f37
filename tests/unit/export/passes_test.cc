// Batches that several GPUs want: one copy comes from the host, the others from that GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>

#include "server/export/gpus.h"
#include "tests/support/fakes/fake_copier.h"

namespace penstock::exporting {
namespace {

using ::testing::SizeIs;

constexpr uint64_t kSlotBytes = 4096;
constexpr uint8_t kFirst = 1, kSecond = 2, kFar = 3;

cuda::Uuid Numbered(uint8_t number) { return cuda::Uuid{{number}}; }

class PassesTest : public ::testing::Test {
 protected:
  PassesTest() {
    posix::Mapping mapping = *posix::Mapping::Map(segment_, kSlotBytes, posix::Access::kReadWrite);
    std::memset(mapping.data(), 0x37, kSlotBytes);
  }
  DeviceReservation On(uint8_t gpu, uint32_t user = 1000) {
    std::optional<DeviceReservation> reservation;
    gpus_.Reserve({.peer = 1,
                   .user = user,
                   .slot_bytes = kSlotBytes,
                   .request = {.gpu = Numbered(gpu), .depth = 2, .kind = {}, .client = {}}},
                  [&](absl::StatusOr<Gpus::ReservedPlace> place) {
                    ASSERT_TRUE(place.ok()) << place.status();
                    reservation.emplace(std::move(place->reservation));
                  });
    gpus_.Collect();
    return std::move(*reservation);
  }
  FullSlot Batch(uint64_t generation = 1) {
    return {.slot = 7,
            .generation = generation,
            .segment = 1,
            .slot_bytes = kSlotBytes,
            .memory = &segment_,
            .memory_bytes = kSlotBytes};
  }
  GpuView ViewOf(uint8_t gpu) {
    for (const GpuView& view : gpus_.View())
      if (view.uuid == Numbered(gpu).ToString()) return view;
    ADD_FAILURE() << "no such GPU";
    return {};
  }
  std::byte FirstByte(FakeCopier& copier, const DevicePlace& place) {
    return copier.slabs.at(place.slab).at(place.offset);
  }

  const posix::Fd segment_ = *posix::MakeMemory("segment", kSlotBytes);
  std::map<cuda::Uuid, FakeCopier*> copiers_;
  Gpus gpus_{
      {.make_copier = [this](const cuda::Uuid& uuid) -> absl::StatusOr<std::unique_ptr<Copier>> {
        auto copier = std::make_unique<FakeCopier>();
        if (uuid == Numbered(kFirst)) copier->linked = {Numbered(kSecond)};
        if (uuid == Numbered(kSecond)) copier->linked = {Numbered(kFirst)};
        copiers_[uuid] = copier.get();
        return copier;
      }}};
};

TEST_F(PassesTest, ABatchCrossesPcieOnceAndIsPassedOn) {
  DeviceReservation one = On(kFirst), two = On(kSecond);
  FakeCopier& first = *copiers_.at(Numbered(kFirst));
  FakeCopier& second = *copiers_.at(Numbered(kSecond));

  const DeviceSlotId here = *one.Take(Batch());
  const DeviceSlotId there = *two.Take(Batch());
  gpus_.Collect();
  EXPECT_EQ(second.passes_asked, 0u) << "the first GPU doesn't have it yet";

  first.Complete();
  gpus_.Collect();
  ASSERT_THAT(second.passes, SizeIs(1));
  EXPECT_FALSE(two.Ready(there));
  second.CompletePass();
  gpus_.Collect();

  EXPECT_TRUE(two.Ready(there));
  EXPECT_EQ(FirstByte(second, two.PlaceOf(there)), std::byte{0x37});
  EXPECT_EQ(second.copies_asked, 0u);
  EXPECT_EQ(ViewOf(kSecond).copies, 1u);
  EXPECT_EQ(ViewOf(kSecond).copies_from_gpus, 1u);
  EXPECT_EQ(ViewOf(kFirst).copies_from_gpus, 0u);
  one.LetGo(here);
  two.LetGo(there);
}

TEST_F(PassesTest, TheOtherGpuKeepsABatchUntilItIsPassedOnAndNotLonger) {
  DeviceReservation one = On(kFirst), two = On(kSecond);
  FakeCopier& first = *copiers_.at(Numbered(kFirst));
  FakeCopier& second = *copiers_.at(Numbered(kSecond));
  const DeviceSlotId here = *one.Take(Batch());
  first.Complete();
  gpus_.Collect();
  one.LetGo(here);
  const DeviceSlotId there = *two.Take(Batch());
  ASSERT_THAT(second.passes, SizeIs(1));

  // The slab has one more slot than the two that others can have meanwhile.
  std::vector<DeviceSlotId> others;
  for (uint64_t generation = 2; auto id = one.Take(Batch(generation)); ++generation)
    others.push_back(*id);
  const size_t held_back = others.size();
  second.CompletePass();
  gpus_.Collect();

  EXPECT_TRUE(two.Ready(there));
  EXPECT_EQ(FirstByte(second, two.PlaceOf(there)), std::byte{0x37});
  ASSERT_TRUE(one.Take(Batch(100)).has_value()) << "given back after " << held_back;
}

TEST_F(PassesTest, GpusWithoutALinkCopyFromTheHost) {
  DeviceReservation one = On(kFirst), far = On(kFar);
  one.Take(Batch());
  far.Take(Batch());

  EXPECT_EQ(copiers_.at(Numbered(kFar))->copies_asked, 1u);
  EXPECT_EQ(copiers_.at(Numbered(kFar))->passes_asked, 0u);
}

TEST_F(PassesTest, UsersDoNotShareBatches) {
  DeviceReservation one = On(kFirst), other = On(kSecond, 1001);
  one.Take(Batch());
  other.Take(Batch());

  EXPECT_EQ(copiers_.at(Numbered(kSecond))->copies_asked, 1u);
}

TEST_F(PassesTest, WhatCannotBePassedOnComesFromTheHostAndSoDoesEverythingAfterIt) {
  DeviceReservation one = On(kFirst), two = On(kSecond);
  FakeCopier& second = *copiers_.at(Numbered(kSecond));
  one.Take(Batch(1));
  one.Take(Batch(2));
  copiers_.at(Numbered(kFirst))->Complete();
  gpus_.Collect();
  const DeviceSlotId there = *two.Take(Batch(1));

  second.CompletePass(/*can=*/false);
  gpus_.Collect();
  EXPECT_FALSE(two.Ready(there));
  second.Complete();
  gpus_.Collect();

  EXPECT_TRUE(two.Ready(there));
  EXPECT_EQ(FirstByte(second, two.PlaceOf(there)), std::byte{0x37});
  two.Take(Batch(2));
  EXPECT_EQ(second.passes_asked, 1u);
  EXPECT_EQ(second.copies_asked, 2u);
}

TEST_F(PassesTest, ASessionThatLeavesBeforeItsBatchWasPassedOnLeavesNothingHeld) {
  DeviceReservation one = On(kFirst);
  std::optional<DeviceReservation> two(On(kSecond));
  FakeCopier& first = *copiers_.at(Numbered(kFirst));
  FakeCopier& second = *copiers_.at(Numbered(kSecond));
  const DeviceSlotId here = *one.Take(Batch());
  const DeviceSlotId there = *two->Take(Batch());
  two->LetGo(there);
  two.reset();
  first.Complete();
  gpus_.Collect();
  one.LetGo(here);
  second.CompletePass();
  gpus_.Collect();

  DeviceReservation again = On(kSecond);
  EXPECT_FALSE(again.Ready(*again.Take(Batch()))) << "nobody had a lease on what was copied";
}

}  // namespace
}  // namespace penstock::exporting
