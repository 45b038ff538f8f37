// Which session gets GPU memory and when, and when the memory is freed.
#include "server/export/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/support/fakes/fake_copier.h"

namespace penstock::exporting {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kMiB = 1u << 20;
constexpr uint64_t kSlot = kMiB;

class GpuTest : public ::testing::Test {
 protected:
  GpuTest() { StartGpu({.max_bytes = 16 * kMiB}); }

  void StartGpu(const Gpu::Options& options) {
    auto copier = std::make_unique<FakeCopier>();
    copier_ = copier.get();
    gpu_ = std::make_unique<Gpu>(cuda::Uuid{{1, 2, 3}}, options, std::move(copier),
                                 [this] { return ++last_slab_; });
  }
  static Gpu::SlotRequest Request(uint32_t depth, uint64_t peer = 1) {
    return {.peer = peer, .user = 1000, .slot_bytes = kSlot, .depth = depth};
  }
  // The answer to a request for slots, after the allocations that it needs.
  std::optional<absl::StatusOr<DeviceReservation>> Ask(const Gpu::SlotRequest& request) {
    auto answer = std::make_shared<std::optional<absl::StatusOr<DeviceReservation>>>();
    gpu_->Reserve(request, [answer](absl::StatusOr<DeviceReservation> reservation) {
      ASSERT_FALSE(answer->has_value()) << "answered twice";
      answer->emplace(std::move(reservation));
    });
    gpu_->Collect();
    return std::move(*answer);
  }
  DeviceReservation Reserved(const Gpu::SlotRequest& request) {
    DeviceReservation reservation = **Ask(request);
    Send(reservation, request.peer);
    return reservation;
  }
  std::vector<SlabFacts> Send(DeviceReservation& reservation, uint64_t peer) {
    return *reservation.SendSlabs(peer, [this](const SlabFacts& slab, const posix::Fd& descriptor) {
      EXPECT_TRUE(descriptor.valid());
      sent_.push_back(slab.id);
      return refuse_sending_;
    });
  }
  FullSlot Batch(uint32_t number) {
    return {.slot = number,
            .generation = 1,
            .segment = 1,
            .slot_bytes = kSlot,
            .memory = &segment_,
            .memory_bytes = kSlot};
  }

  const posix::Fd segment_ = *posix::MakeMemory("segment", kSlot);
  uint32_t last_slab_ = 0;
  FakeCopier* copier_ = nullptr;
  std::unique_ptr<Gpu> gpu_;
  std::vector<uint32_t> sent_;
  absl::Status refuse_sending_;
};

TEST_F(GpuTest, WhatDoesNotFitIsRefusedWithTheNumbers) {
  const DeviceReservation reservation = Reserved(Request(13));

  const absl::Status refused = (*Ask(Request(4, 2))).status();

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("4 batches"), HasSubstr("GPU-01020300"), HasSubstr("1.0 MiB"),
                    HasSubstr("16.0 MiB"), HasSubstr("14.0 MiB"), HasSubstr("raise gpu.max")));
}

TEST_F(GpuTest, ASlotLargerThanAllMemoryIsRefused) {
  Gpu::SlotRequest request = Request(16);
  request.slot_bytes = UINT64_MAX / 2;

  EXPECT_EQ((*Ask(request)).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(copier_->orders, IsEmpty());
}

TEST_F(GpuTest, ASlabIsWholeGranulesWithRoomForItsCanary) {
  const DeviceReservation reservation = Reserved(Request(2));

  ASSERT_THAT(copier_->orders, SizeIs(1));
  EXPECT_EQ(copier_->orders[0].bytes, 4 * kMiB);  // 2 MiB and 4 KiB, rounded up
}

TEST_F(GpuTest, WhoAsksWhileASlabIsMadeWaitsForItAndForNoOther) {
  copier_->slabs_by_hand = true;
  std::vector<int> served;
  std::vector<DeviceReservation> reservations;
  const auto serve = [&](int who) {
    return [&, who](absl::StatusOr<DeviceReservation> reservation) {
      ASSERT_TRUE(reservation.ok()) << reservation.status();
      served.push_back(who);
      reservations.push_back(*std::move(reservation));
    };
  };

  gpu_->Reserve(Request(2), serve(1));
  gpu_->Reserve(Request(1), serve(2));  // fits into the slots that the first slab has left
  gpu_->Reserve(Request(3), serve(3));
  EXPECT_THAT(served, IsEmpty());
  ASSERT_THAT(copier_->orders, SizeIs(2));
  copier_->CompleteSlab();
  gpu_->Collect();
  EXPECT_THAT(served, ElementsAre(1, 2));
  copier_->CompleteSlab();
  gpu_->Collect();

  EXPECT_THAT(served, ElementsAre(1, 2, 3));
}

TEST_F(GpuTest, ASlabThatCannotBeMadeRefusesAllWhoCountedOnItAndLeavesNothing) {
  copier_->slabs_by_hand = true;
  std::vector<absl::StatusCode> refused;
  const auto refuse = [&](const absl::StatusOr<DeviceReservation>& reservation) {
    refused.push_back(reservation.status().code());
  };
  gpu_->Reserve(Request(2), refuse);
  gpu_->Reserve(Request(1), refuse);

  copier_->CompleteSlab(absl::NotFoundError("no such GPU"));
  gpu_->Collect();

  EXPECT_THAT(refused, ElementsAre(absl::StatusCode::kNotFound, absl::StatusCode::kNotFound));
  EXPECT_TRUE(gpu_->Unused());
  EXPECT_EQ(gpu_->View().slab_bytes, 0u);
}

TEST_F(GpuTest, WhoIsGoneBeforeItsSlabIsMadeIsRefusedAndTheSlabFreed) {
  copier_->slabs_by_hand = true;
  absl::Status refused;
  gpu_->Reserve(Request(2), [&](const absl::StatusOr<DeviceReservation>& reservation) {
    refused = reservation.status();
  });

  gpu_->ForgetPeer(1);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  copier_->CompleteSlab();
  gpu_->Collect();

  EXPECT_THAT(copier_->freed, ElementsAre(1));
  EXPECT_TRUE(gpu_->Unused());
}

TEST_F(GpuTest, ALostGpuRefusesThoseWhoWaitAndThoseWhoCome) {
  copier_->slabs_by_hand = true;
  absl::Status refused;
  gpu_->Reserve(Request(2), [&](const absl::StatusOr<DeviceReservation>& reservation) {
    refused = reservation.status();
  });
  copier_->failure = absl::InternalError("an illegal address");

  gpu_->Collect();

  EXPECT_EQ(refused, copier_->failure);
  EXPECT_EQ((*Ask(Request(1))).status(), copier_->failure);
  EXPECT_EQ(gpu_->View().state, "an illegal address");
}

TEST_F(GpuTest, ASlabIsFreedOnlyWhenTheLastProcessThatWasToldOfItIsGone) {
  {
    const DeviceReservation first = Reserved(Request(2, 1));
    const DeviceReservation second = Reserved(Request(1, 2));
    gpu_->ForgetPeer(1);
  }
  EXPECT_THAT(copier_->freed, IsEmpty());

  gpu_->ForgetPeer(2);

  EXPECT_THAT(copier_->freed, ElementsAre(1));
  EXPECT_EQ(gpu_->View().slabs, 0u);
}

TEST_F(GpuTest, ASlabThatASessionReservesStaysEvenIfWhoMadeItNecessaryIsGone) {
  std::optional<DeviceReservation> first(Reserved(Request(2, 1)));
  const DeviceReservation second = Reserved(Request(1, 2));

  first.reset();
  gpu_->ForgetPeer(1);

  EXPECT_THAT(copier_->freed, IsEmpty());
}

TEST_F(GpuTest, ASlabThatIsStillCopiedToIsFreedAfterwards) {
  {
    DeviceReservation reservation = Reserved(Request(1, 1));
    reservation.LetGo(*reservation.Take(Batch(1)));
  }
  gpu_->ForgetPeer(1);
  EXPECT_THAT(copier_->freed, IsEmpty());

  copier_->Complete();
  gpu_->Collect();

  EXPECT_THAT(copier_->freed, ElementsAre(1));
}

TEST_F(GpuTest, AProcessThatChangesItsBatchSizeKeepsItsSlabs) {
  { const DeviceReservation reservation = Reserved(Request(4)); }
  Gpu::SlotRequest smaller = Request(6);
  smaller.slot_bytes = kSlot / 2;

  DeviceReservation reservation = Reserved(smaller);

  EXPECT_THAT(copier_->orders, SizeIs(1));
  EXPECT_THAT(Send(reservation, 1), SizeIs(1));
}

TEST_F(GpuTest, UsersAndKindsOfHandleShareNoSlab) {
  DeviceReservation reservation = Reserved(Request(1, 1));
  Gpu::SlotRequest other_user = Request(1, 2), other_kind = Request(1, 3);
  other_user.user = 1001;
  other_kind.kind = cuda::HandleKind::kVmm;

  DeviceReservation theirs = Reserved(other_user), by_descriptor = Reserved(other_kind);

  EXPECT_THAT(copier_->orders, SizeIs(3));
  EXPECT_THAT(Send(reservation, 1), SizeIs(1));
  const auto id = reservation.Take(Batch(1));
  EXPECT_NE(theirs.PlaceOf(*theirs.Take(Batch(1))).slab, reservation.PlaceOf(*id).slab);
  EXPECT_EQ(copier_->copies_asked, 2u);
}

TEST_F(GpuTest, ADescriptorIsSentToAPeerOnceAndASlabOfAYoungerSessionWhenItAsks) {
  Gpu::SlotRequest request = Request(1, 1);
  request.kind = cuda::HandleKind::kVmm;
  DeviceReservation reservation = Reserved(request);
  Send(reservation, 1);
  EXPECT_THAT(sent_, ElementsAre(1));
  request.peer = 2;
  request.depth = 3;
  const DeviceReservation other = Reserved(request);

  const std::vector<SlabFacts> slabs = Send(reservation, 1);

  EXPECT_THAT(slabs, SizeIs(2));
  EXPECT_THAT(sent_, ElementsAre(1, 1, 2, 2));
}

TEST_F(GpuTest, AnIpcHandleNeedsNoMessage) {
  DeviceReservation reservation = Reserved(Request(1));

  const SlabFacts slab = Send(reservation, 1).at(0);

  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(slab.kind, cuda::HandleKind::kIpc);
  EXPECT_NE(slab.ipc, cuda::IpcHandle());
  EXPECT_EQ(slab.canary_offset, 2 * kMiB - 4096);
  EXPECT_TRUE(std::equal(slab.canary.begin(), slab.canary.end(),
                         copier_->slabs.at(slab.id).begin() + slab.canary_offset));
}

TEST_F(GpuTest, WhoCouldNotBeSentADescriptorWasNotToldOfTheSlab) {
  Gpu::SlotRequest request = Request(1);
  request.kind = cuda::HandleKind::kVmm;
  {
    DeviceReservation reservation = **Ask(request);
    const auto told = reservation.SendSlabs(
        1, [](const SlabFacts&, const posix::Fd&) { return absl::UnavailableError("it left"); });
    EXPECT_EQ(told.status().code(), absl::StatusCode::kUnavailable);
  }

  EXPECT_THAT(copier_->freed, ElementsAre(1));
}

TEST_F(GpuTest, ASegmentIsOpenedBeforeItsFirstCopyAndClosedWhenThePoolGivesItUp) {
  DeviceReservation reservation = Reserved(Request(1));
  EXPECT_THAT(copier_->segments, IsEmpty());

  const auto id = reservation.Take(Batch(1));
  EXPECT_THAT(copier_->segments, SizeIs(1));
  gpu_->ForgetSegment(1);

  EXPECT_THAT(copier_->segments, IsEmpty());
  reservation.LetGo(*id);
}

TEST_F(GpuTest, TestsMayHaveReclaimedSlotsPoisoned) {
  StartGpu({.max_bytes = 16 * kMiB, .unheld = DeviceSlots::Unheld::kForget});
  DeviceReservation reservation = Reserved(Request(1));
  const auto id = reservation.Take(Batch(1));
  copier_->Complete();
  gpu_->Collect();
  const DevicePlace place = reservation.PlaceOf(*id);

  reservation.LetGo(*id);

  const std::byte* slot = copier_->slabs.at(place.slab).data() + place.offset;
  EXPECT_EQ(slot[0], kPoison);
  EXPECT_EQ(slot[kSlot - 1], kPoison);
}

TEST_F(GpuTest, CopiesAndTheirRateAreCounted) {
  DeviceReservation reservation = Reserved(Request(2));
  const base::TimePoint start{};
  gpu_->Tick(start);
  const auto one = reservation.Take(Batch(1)), two = reservation.Take(Batch(2));
  copier_->Complete();
  gpu_->Collect();

  gpu_->Tick(start + std::chrono::seconds(2));

  const GpuView view = gpu_->View();
  EXPECT_EQ(view.copies, 2u);
  EXPECT_EQ(view.copied_bytes, 2 * kSlot);
  EXPECT_EQ(view.copied_bytes_per_second, kSlot);
  EXPECT_EQ(view.sessions, 1u);
  EXPECT_EQ(view.context_bytes, 525 * kMiB);
  reservation.LetGo(*one);
  reservation.LetGo(*two);
}

}  // namespace
}  // namespace penstock::exporting
