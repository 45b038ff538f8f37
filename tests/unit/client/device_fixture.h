// A session with device delivery. The test owns its page and slabs, and host memory simulates the
// GPU.
#pragma once

#include "tests/unit/client/fake_gpu.h"
#include "tests/unit/client/session_fixture.h"

namespace penstock::client {

inline constexpr uint32_t kSlabId = 3;
inline constexpr Finish kAsStored = {.type = Type::kUInt8, .layout = Layout::kNHWC};

inline Grant DeviceGrant() {
  Grant grant = SmallGrant();
  grant.delivery = Delivery::kDevice;
  grant.handle = HandleKind::kIpc;
  grant.device_depth = 2;
  return grant;
}

inline SlabOffer Offer(uint32_t id = kSlabId) {
  SlabOffer offer;
  offer.id = id;
  offer.bytes = kSlabBytes;
  offer.kind = HandleKind::kIpc;
  offer.handle = std::string(cuda::kIpcHandleBytes, static_cast<char>(id));
  offer.canary_offset = kCanaryOffset;
  offer.canary = kCanary;
  return offer;
}

class DeviceSessionTest : public ::testing::Test {
 protected:
  DeviceSessionTest() {
    daemon_.slab = gpu_->Export(kSlabId);
    second_.slab = gpu_->Export(kSlabId + 1);
  }

  SessionCore Open() {
    EXPECT_TRUE(daemon_.link->slabs.Open(Offer(), *gpu_).ok());
    return SessionCore(std::make_unique<FakeOpener>(&reopening_), daemon_.Attach(gpu_).value(), {});
  }
  static shm::ControlEntry Entry(FakeDaemon& daemon, uint64_t sequence, uint32_t slab = kSlabId) {
    shm::ControlEntry entry = daemon.Entry(sequence);
    entry.segment = slab;
    return entry;
  }
  void AnnounceNext() { daemon_.Announce(Entry(daemon_, daemon_.page().announced.load() + 1)); }
  uint64_t Word(uint64_t sequence) { return daemon_.page().released[sequence - 1].load(); }
  Into Target() { return {images_, sizeof(images_), labels_}; }

  const std::shared_ptr<FakeGpu> gpu_ = std::make_shared<FakeGpu>();
  FakeDaemon daemon_{DeviceGrant()}, second_{DeviceGrant()};
  Reopening reopening_{.asked = {}, .epochs = {}, .refusals = {}, .daemon = &second_, .gpu = gpu_};
  const Stream stream_ = FakeGpu::Named(1);
  uint8_t images_[48] = {};
  int64_t labels_[4] = {};
};

}  // namespace penstock::client
