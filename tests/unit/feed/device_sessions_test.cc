// Sessions with device delivery at the engine's interface, with a copier whose GPU is host memory.
// There are no workers, so nothing is decoded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "common/shm/doorway_wire.h"
#include "server/feed/engine/engine.h"
#include "tests/support/fakes/fake_copier.h"
#include "tests/support/fakes/fake_dataset.h"

namespace penstock::feed {
namespace {

using exporting::FakeCopier;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kOwner = 5, kOtherOwner = 6;

class DeviceSessionsTest : public ::testing::Test {
 protected:
  DeviceSessionsTest() {
    EXPECT_TRUE(engine_.Start().ok());
    engine_.WatchWith([this](int fd, bool watch) {
      watch ? (void)watched_.insert(fd) : (void)watched_.erase(fd);
    });
  }

  Engine::Options Options() {
    Engine::Options options;
    options.pool.max_bytes = 1 << 20;
    options.pool.segment_bytes = 64 << 10;
    options.workers.count = 0;
    options.gpus.max_bytes = 8 << 20;
    options.gpus.make_copier =
        [this](const cuda::Uuid&) -> absl::StatusOr<std::unique_ptr<exporting::Copier>> {
      auto copier = std::make_unique<FakeCopier>();
      copier->refuse_slabs = refuse_slabs_;
      copier->slabs_by_hand = slabs_by_hand_;
      copier_ = copier.get();
      return copier;
    };
    return options;
  }

  OpenRequest Request(uint64_t peer = kOwner) const {
    OpenRequest request;
    request.peer = peer;
    request.user = 1000;
    request.dataset_name = "flowers";
    request.dataset = dataset_;
    request.feed.decoding.height = request.feed.decoding.width = 16;
    request.share = {.batch_size = 4};
    request.window = 2;
    request.delivery = session::Delivery::kDevice;
    request.device =
        exporting::DeviceRequest{.gpu = {{1}}, .client = {.pid = 1, .pid_namespace = 1}};
    request.delivery_reason = "asked for";
    return request;
  }

  void Ask(const OpenRequest& request) {
    engine_.Open(request, now_, [this](absl::StatusOr<session::Grant> grant) {
      answers_.push_back(std::move(grant));
    });
  }
  session::Grant Open(const OpenRequest& request) {
    Ask(request);
    engine_.Pump(now_);
    EXPECT_TRUE(answers_.back().ok()) << answers_.back().status();
    return answers_.back().value_or(session::Grant());
  }
  void ExpectNothingLeft() {
    EXPECT_EQ(engine_.sessions(), 0u);
    EXPECT_EQ(engine_.views().View().pool.reserved_bytes, 0u);
    for (const GpuInfo& gpu : engine_.views().View().gpus) {
      EXPECT_EQ(gpu.view.sessions, 0u);
      EXPECT_EQ(gpu.view.slab_bytes, 0u);
    }
  }

  base::TimePoint now_{};
  absl::Status send_status_, refuse_slabs_;
  bool slabs_by_hand_ = false;
  FakeCopier* copier_ = nullptr;
  std::vector<shm::DoorwayKind> sent_;
  std::multiset<int> watched_;
  std::vector<absl::StatusOr<session::Grant>> answers_;
  std::shared_ptr<DatasetState> dataset_ = std::make_shared<DatasetState>(
      DatasetState{.name = "flowers",
                   .dataset = std::make_shared<testing::FakeDataset>(100),
                   .quarantine = {},
                   .policy = FaultPolicy(100)});
  Engine engine_{Options(), [this](uint64_t, const void* message, size_t, const std::vector<int>&) {
                   shm::DoorwayHeader header;
                   std::memcpy(&header, message, sizeof(header));
                   sent_.push_back(header.kind);
                   return send_status_;
                 }};
};

TEST_F(DeviceSessionsTest, AGpuThatCannotBeUsedRefusesTheSessionInItsOwnWords) {
  refuse_slabs_ = absl::FailedPreconditionError("there is no driver");

  Ask(Request());
  engine_.Pump(now_);

  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(answers_[0].status(), refuse_slabs_);
  EXPECT_TRUE(engine_.status().ok());
  EXPECT_EQ(engine_.views().View().gpus.at(0).view.state, "there is no driver");
  ExpectNothingLeft();
}

TEST_F(DeviceSessionsTest, WhatIsWrongIsSaidBeforeMemoryIsMadeOnAGpu) {
  OpenRequest request = Request();
  request.expected_fingerprint = 1;

  Ask(request);

  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_THAT(std::string(answers_[0].status().message()), HasSubstr("fingerprint"));
  EXPECT_EQ(copier_, nullptr);
}

TEST_F(DeviceSessionsTest, APoolWithoutRoomLeavesNothingOnTheGpu) {
  OpenRequest request = Request();
  request.window = 256;
  request.share.batch_size = 64;

  Ask(request);
  engine_.Pump(now_);

  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(answers_[0].status().code(), absl::StatusCode::kResourceExhausted);
  ExpectNothingLeft();
}

TEST_F(DeviceSessionsTest, APeerThatCannotBeSentItsDescriptorsLeavesNothing) {
  send_status_ = absl::UnavailableError("it left");

  Ask(Request());
  engine_.Pump(now_);
  engine_.PeerGone(kOwner, now_);

  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(answers_[0].status().code(), absl::StatusCode::kUnavailable);
  ExpectNothingLeft();
}

TEST_F(DeviceSessionsTest, APeerThatIsGoneBeforeItsSlabIsMadeLeavesNothing) {
  slabs_by_hand_ = true;
  Ask(Request());
  engine_.Pump(now_);
  EXPECT_THAT(answers_, IsEmpty());

  engine_.PeerGone(kOwner, now_);
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(answers_[0].status().code(), absl::StatusCode::kUnavailable);
  copier_->CompleteSlab();
  engine_.Pump(now_);

  ExpectNothingLeft();
}

TEST_F(DeviceSessionsTest, AnEndingDaemonAnswersThoseWhoStillWait) {
  slabs_by_hand_ = true;
  Ask(Request());

  engine_.CloseAll();

  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_EQ(answers_[0].status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(DeviceSessionsTest, AGrantNamesItsSlabsAndWhyThisHandle) {
  const session::Grant grant = Open(Request());

  ASSERT_TRUE(grant.device.has_value());
  EXPECT_EQ(grant.device->depth, 3u);
  EXPECT_EQ(grant.device->handle.kind, cuda::HandleKind::kIpc);
  EXPECT_THAT(grant.device->handle.reason, HasSubstr("default"));
  EXPECT_THAT(grant.device->slabs, SizeIs(1));
  EXPECT_THAT(sent_, ElementsAre(shm::DoorwayKind::kSession));
  EXPECT_THAT(watched_, SizeIs(5));  // for workers, row copiers, hosts, the copier and the session
}

TEST_F(DeviceSessionsTest, ADescriptorOfASlabIsSentBeforeTheGrant) {
  OpenRequest request = Request();
  request.device->kind = cuda::HandleKind::kVmm;

  Open(request);

  EXPECT_THAT(sent_, ElementsAre(shm::DoorwayKind::kSlab, shm::DoorwayKind::kSession));
}

TEST_F(DeviceSessionsTest, SlabsAreListedForTheSessionsOwnerAlone) {
  const uint64_t session = Open(Request()).session;

  EXPECT_THAT(*engine_.Slabs(kOwner, session), SizeIs(1));
  EXPECT_EQ(engine_.Slabs(kOtherOwner, session).status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(engine_.Slabs(kOwner, 99).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DeviceSessionsTest, AHostSessionHasNoSlabs) {
  OpenRequest request = Request();
  request.delivery = session::Delivery::kHost;

  EXPECT_EQ(engine_.Slabs(kOwner, Open(request).session).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(DeviceSessionsTest, AClosedSessionsSlabIsFreedWhenItsProcessIsGone) {
  const uint64_t session = Open(Request()).session;

  EXPECT_TRUE(engine_.Close(kOwner, session, now_).ok());
  EXPECT_THAT(copier_->freed, IsEmpty());
  EXPECT_FALSE(engine_.MustBePolled());
  engine_.PeerGone(kOwner, now_);

  EXPECT_THAT(copier_->freed, SizeIs(1));
  ExpectNothingLeft();
}

TEST_F(DeviceSessionsTest, ALostGpuEndsTheDaemonAndTellsItsSessions) {
  Open(Request());
  copier_->failure = absl::InternalError("an illegal address");

  engine_.Pump(now_);
  engine_.Tick(now_);

  EXPECT_THAT(std::string(engine_.status().message()), HasSubstr("an illegal address"));
  EXPECT_EQ(engine_.views().Sessions().at(0).state, "ended");
  Ask(Request());
  EXPECT_THAT(std::string(answers_.back().status().message()), HasSubstr("an illegal address"));
}

TEST_F(DeviceSessionsTest, StatusSaysHowBatchesAreDeliveredAndWhy) {
  Open(Request());

  const SessionInfo info = engine_.views().Sessions().at(0);

  EXPECT_EQ(info.delivery, DeliveryKind::kDevice);
  EXPECT_THAT(info.delivery_reason, HasSubstr("asked for; the default"));
  EXPECT_THAT(info.gpu, HasSubstr("GPU-01"));
  EXPECT_EQ(info.device_depth, 3u);
  EXPECT_EQ(info.on_device, 0u);
}

}  // namespace
}  // namespace penstock::feed
