// What is specific to device delivery. tests/contract/delivery_contract_test.cc tests what all
// deliveries have in common.
#include "server/export/device_delivery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fakes/fake_copier.h"
#include "tests/support/fakes/pool_segment.h"

namespace penstock::exporting {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kDepth = 3;
constexpr uint64_t kDeviceSlot = 600 << 10;  // the smallest slab has three of them

// One trainer's session, with its own mapping of its control page.
class Trainer {
 public:
  Trainer(Gpu& gpu, uint64_t session) {
    gpu.Reserve({.peer = session, .user = 1000, .slot_bytes = kDeviceSlot, .depth = kDepth},
                [&](absl::StatusOr<DeviceReservation> reservation) {
                  delivery = *DeviceDelivery::Make(session, 8, PoolSegment::kRows,
                                                   *std::move(reservation));
                });
    gpu.Collect();
    mapping_ = *posix::Mapping::Map(delivery->memory(), delivery->memory_bytes(),
                                    posix::Access::kReadWrite);
  }
  shm::ControlPage& page() { return *reinterpret_cast<shm::ControlPage*>(mapping_.data()); }
  uint64_t announced() { return page().announced.load(); }
  const shm::ControlEntry& entry(uint64_t sequence) { return page().entries[sequence - 1]; }
  void Release(uint64_t sequence) { page().released[sequence - 1].store(sequence); }
  int64_t Label(uint64_t sequence, uint32_t row) {
    int64_t label;
    std::memcpy(&label, mapping_.data() + entry(sequence).notes_offset + row * 8, 8);
    return label;
  }
  uint64_t Id(uint64_t sequence, uint32_t row) {
    uint64_t id;
    std::memcpy(&id,
                mapping_.data() + entry(sequence).notes_offset + (PoolSegment::kRows + row) * 8, 8);
    return id;
  }

  std::unique_ptr<DeviceDelivery> delivery;

 private:
  posix::Mapping mapping_;
};

class DeviceDeliveryTest : public ::testing::Test {
 protected:
  DeviceDeliveryTest() {
    auto copier = std::make_unique<FakeCopier>();
    copier_ = copier.get();
    gpu_ = std::make_unique<Gpu>(cuda::Uuid{}, Gpu::Options{.max_bytes = 64u << 20},
                                 std::move(copier), [this] { return ++last_slab_; });
    trainer_ = std::make_unique<Trainer>(*gpu_, 1);
  }
  // Announces the core's batch `sequence`, which is in slot `sequence` - 1.
  void Announce(Trainer& trainer, uint64_t sequence) {
    const auto slot = static_cast<uint32_t>(sequence - 1);
    trainer.delivery->Announce(PoolSegment::Entry(sequence, slot), segment_.Slot(slot));
  }
  void Announce(uint64_t sequence) { Announce(*trainer_, sequence); }
  void Copy(size_t count = SIZE_MAX) {
    copier_->Complete(count);
    gpu_->Collect();
  }
  BatchDelivery::Heard Listen() { return trainer_->delivery->Listen(); }
  const std::byte* OnGpu(const shm::ControlEntry& entry) {
    return copier_->slabs.at(entry.segment).data() + entry.offset;
  }

  PoolSegment segment_{16};
  uint32_t last_slab_ = 0;
  FakeCopier* copier_ = nullptr;
  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<Trainer> trainer_;
};

TEST_F(DeviceDeliveryTest, ABatchIsAnnouncedOnlyWhenItsCopyIsComplete) {
  Announce(1);
  Listen();
  EXPECT_EQ(trainer_->announced(), 0u);

  Copy();
  Listen();

  EXPECT_EQ(trainer_->announced(), 1u);
}

TEST_F(DeviceDeliveryTest, TheHostSlotIsLetGoWhenTheCopyIsCompleteWhateverTheConsumerDoes) {
  Announce(1);
  EXPECT_THAT(Listen().released, IsEmpty());
  Copy();

  const BatchDelivery::Heard first = Listen(), second = Listen();

  EXPECT_EQ(first.taken, 1u);
  EXPECT_THAT(first.released, ElementsAre(1));
  EXPECT_THAT(second.released, IsEmpty());
}

TEST_F(DeviceDeliveryTest, NoMoreBatchesAreOnTheDeviceThanItsDepth) {
  for (uint64_t sequence = 1; sequence <= 6; ++sequence) Announce(sequence);
  Copy();
  Listen();
  EXPECT_EQ(copier_->copies_asked, kDepth);
  EXPECT_EQ(trainer_->delivery->progress().on_device, kDepth);

  trainer_->Release(1);
  Listen();

  EXPECT_EQ(copier_->copies_asked, kDepth + 1);
  Copy();
  Listen();
  EXPECT_EQ(trainer_->announced(), kDepth + 1);
}

TEST_F(DeviceDeliveryTest, BatchesReleasedOutOfOrderMakeRoomAtOnce) {
  for (uint64_t sequence = 1; sequence <= 4; ++sequence) Announce(sequence);
  Copy();
  Listen();

  trainer_->Release(2);
  Listen();
  Copy();
  Listen();

  EXPECT_EQ(trainer_->announced(), 4u);
  EXPECT_EQ(trainer_->entry(4).offset, trainer_->entry(2).offset);
  EXPECT_EQ(trainer_->entry(4).notes_offset, trainer_->entry(2).notes_offset);
}

TEST_F(DeviceDeliveryTest, NotesOfABatchStayWhatTheyAreUntilItIsReleased) {
  for (uint64_t sequence = 1; sequence <= 4; ++sequence) Announce(sequence);
  Copy();
  Listen();
  trainer_->Release(1);
  Listen();
  Copy();
  Listen();

  for (uint64_t sequence : {2, 3, 4}) {
    EXPECT_EQ(trainer_->Label(sequence, 1), PoolSegment::Label(sequence - 1, 1));
    EXPECT_EQ(trainer_->Id(sequence, 3), PoolSegment::Id(sequence - 1, 1, 3));
  }
}

TEST_F(DeviceDeliveryTest, EightSessionsOnOneFeedMakeOneCopyABatch) {
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (uint64_t session = 10; session < 18; ++session)
    trainers.push_back(std::make_unique<Trainer>(*gpu_, session));

  for (uint64_t sequence = 1; sequence <= 12; ++sequence) {
    for (const auto& trainer : trainers) Announce(*trainer, sequence);
    Copy();
    for (const auto& trainer : trainers) {
      trainer->delivery->Listen();
      ASSERT_EQ(trainer->announced(), sequence);
      EXPECT_EQ(OnGpu(trainer->entry(sequence))[0],
                std::byte{PoolSegment::Image(static_cast<uint32_t>(sequence) - 1, 1, 0)});
      EXPECT_EQ(trainer->Label(sequence, 0),
                PoolSegment::Label(static_cast<uint32_t>(sequence) - 1, 0));
      trainer->Release(sequence);
    }
  }

  EXPECT_EQ(copier_->copies_asked, 12u);
}

TEST_F(DeviceDeliveryTest, ASlowSessionsBatchIsNotOverwrittenByItsNeighbours) {
  Trainer fast(*gpu_, 2);
  Announce(1);
  Copy();
  Listen();
  for (uint64_t sequence = 1; sequence <= 12; ++sequence) {
    Announce(fast, sequence);
    Copy();
    fast.delivery->Listen();
    fast.Release(sequence);
  }

  EXPECT_EQ(fast.announced(), 12u);
  EXPECT_EQ(OnGpu(trainer_->entry(1))[0], std::byte{PoolSegment::Image(0, 1, 0)});
}

TEST_F(DeviceDeliveryTest, WhatWasCopiedForASessionThatLeftBeforeTheEndIsCopiedAgain) {
  Announce(1);
  trainer_.reset();
  segment_.Fill(0, 2);  // the session's lease is gone, so the core refilled the slot
  Copy();
  segment_.Fill(0, 1);

  Trainer next(*gpu_, 2);
  Announce(next, 1);
  Copy();
  next.delivery->Listen();

  EXPECT_EQ(copier_->copies_asked, 2u);
  EXPECT_EQ(OnGpu(next.entry(1))[0], std::byte{PoolSegment::Image(0, 1, 0)});
}

TEST_F(DeviceDeliveryTest, CopiesThatNobodyWaitsForDelayTheNextSessionAndDoNotStopIt) {
  for (uint64_t sequence = 1; sequence <= 8; ++sequence) Announce(sequence);
  trainer_.reset();
  Trainer next(*gpu_, 2);
  const size_t before = copier_->copies_asked;
  for (uint64_t sequence = 1; sequence <= 8; ++sequence) {
    next.delivery->Announce(PoolSegment::Entry(sequence, static_cast<uint32_t>(sequence) + 7),
                            segment_.Slot(static_cast<uint32_t>(sequence) + 7));
  }
  EXPECT_LT(copier_->copies_asked - before, size_t{kDepth});

  Copy();
  next.delivery->Listen();
  Copy();
  next.delivery->Listen();

  EXPECT_EQ(next.announced(), uint64_t{kDepth});
}

TEST_F(DeviceDeliveryTest, ASessionLeavesOnlyWhenItsConsumerHasReleasedAll) {
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) Announce(sequence);
  Copy(2);
  Listen();
  trainer_->page().taken = 2;
  EXPECT_FALSE(trainer_->delivery->Leave());
  trainer_->Release(2);
  EXPECT_FALSE(trainer_->delivery->Leave());
  EXPECT_TRUE(trainer_->delivery->MustBePolled());

  trainer_->Release(1);

  EXPECT_TRUE(trainer_->delivery->Leave());
  Copy();
  EXPECT_EQ(trainer_->announced(), 2u) << "nothing comes any more";
}

TEST_F(DeviceDeliveryTest, WhatWasAnnouncedButNotTakenKeepsNoSessionFromLeaving) {
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) Announce(sequence);
  Copy(3);
  Listen();
  ASSERT_EQ(trainer_->announced(), 3u);
  trainer_->page().taken = 1;
  EXPECT_FALSE(trainer_->delivery->Leave());

  trainer_->Release(1);

  EXPECT_TRUE(trainer_->delivery->Leave());
}

TEST_F(DeviceDeliveryTest, OnlyBatchesInTheConsumersHandsArePolledFor) {
  EXPECT_FALSE(trainer_->delivery->MustBePolled());
  Announce(1);
  EXPECT_FALSE(trainer_->delivery->MustBePolled());
  Copy();
  Listen();
  EXPECT_TRUE(trainer_->delivery->MustBePolled());

  trainer_->Release(1);
  Listen();

  EXPECT_FALSE(trainer_->delivery->MustBePolled());
}

TEST_F(DeviceDeliveryTest, WordsOfAConsumerThatCannotBeAreOnlyItsOwnTrouble) {
  Announce(1);
  Copy();
  Listen();
  trainer_->page().taken.store(UINT64_MAX);
  trainer_->Release(7);

  EXPECT_EQ(Listen().taken, 1u);

  EXPECT_EQ(trainer_->delivery->progress().taken, 1u);
  EXPECT_EQ(trainer_->delivery->progress().released, 0u);
}

TEST_F(DeviceDeliveryTest, ALostGpuIsSaidThoughBatchesAreStillToCome) {
  Announce(1);
  trainer_->delivery->Finish(shm::SessionState::kFailed, absl::InternalError("the GPU is lost"));
  EXPECT_EQ(trainer_->page().state, static_cast<uint32_t>(shm::SessionState::kOpen));

  copier_->failure = absl::InternalError("an illegal address");
  Listen();

  EXPECT_EQ(trainer_->page().state, static_cast<uint32_t>(shm::SessionState::kFailed));
  EXPECT_STREQ(trainer_->page().error, "the GPU is lost");
}

TEST_F(DeviceDeliveryTest, AClosingDaemonDoesNotWaitForCopies) {
  Announce(1);

  trainer_->delivery->Finish(shm::SessionState::kClosing, absl::UnavailableError("ending"));

  EXPECT_EQ(trainer_->page().state, static_cast<uint32_t>(shm::SessionState::kClosing));
}

}  // namespace
}  // namespace penstock::exporting
