// Slabs are opened only if their offer is valid, and used only if their guard bytes match.
#include "client/src/gpu/slabs.h"

#include "tests/unit/client/device_fixture.h"

namespace penstock::client {
namespace {

using SlabsTest = DeviceSessionTest;
using ::testing::HasSubstr;

TEST_F(SlabsTest, ASlabWithoutItsCanaryIsOtherMemory) {
  gpu_->exported.at(kSlabId)[kCanaryOffset] ^= std::byte{1};

  const absl::Status status = daemon_.link->slabs.Open(Offer(), *gpu_);

  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("slab 3"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("its guard bytes differ"));
  EXPECT_EQ(daemon_.link->slabs.Find(kSlabId), nullptr);
  EXPECT_EQ(gpu_->alive, 0);
}

TEST_F(SlabsTest, AnOfferThatCannotBeIsNotOpened) {
  SlabOffer odd = Offer(), outside = Offer(), bare = Offer(), cut = Offer();
  odd.bytes -= 4096;
  outside.canary_offset = ~uint64_t{0} - 4;
  bare.canary.clear();
  cut.handle.pop_back();

  for (const SlabOffer& offer : {odd, outside, bare, cut}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(daemon_.link->slabs.Open(offer, *gpu_)));
  }
  EXPECT_EQ(gpu_->opened, 0);
}

TEST_F(SlabsTest, WhatCannotBeOpenedIsToldWithItsKindOfHandle) {
  gpu_->ipc = absl::FailedPreconditionError("invalid device context");
  SlabOffer vmm = Offer();
  vmm.kind = HandleKind::kVmm;

  EXPECT_THAT(std::string(daemon_.link->slabs.Open(Offer(), *gpu_).message()),
              HasSubstr("CUDA IPC handle: invalid device context"));
  EXPECT_THAT(std::string(daemon_.link->slabs.Open(vmm, *gpu_).message()),
              HasSubstr("VMM descriptor: no descriptor came"));
}

}  // namespace
}  // namespace penstock::client
