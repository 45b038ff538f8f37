// Tests device sessions from photographs, which real workers decode, to the bytes in a consumer's
// slab. Host memory stands in for the GPU; everything else is real.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/support/fakes/fake_copier.h"
#include "tests/system/engine/engine_rig.h"

namespace penstock::feed {
namespace {

using exporting::FakeCopier;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeviceTest : public ::testing::Test {
 protected:
  DeviceTest() {
    // Completes copies late and at random times.
    rig_.each_turn = [this] {
      if (copier_ != nullptr && copying_ && random_() % 2 == 0) copier_->Complete(1);
    };
  }

  OpenRequest Request(uint64_t peer = kPeer) const {
    OpenRequest request = rig_.Request(peer);
    request.delivery = session::Delivery::kDevice;
    request.device = exporting::DeviceRequest{
        .gpu = {{1}}, .depth = 2, .kind = {}, .client = {.pid = 1, .pid_namespace = 1}};
    return request;
  }
  uint64_t HostSession() { return rig_.Open(rig_.Request(kPeer + 100)); }

  // Reads one batch from the consumer's slab and from its control page.
  Copied Copy(uint64_t session, uint64_t sequence) {
    const Consumer& consumer = rig_.consumer(session);
    const shm::ControlEntry entry = consumer.Entry(sequence);
    const uint64_t row_bytes = 3 * 32 * 32;
    Copied copied{
        .epoch = entry.epoch, .first = entry.first, .pixels = {}, .ids = {}, .labels = {}};
    const std::byte* slot = copier_->slabs.at(entry.segment).data() + entry.offset;
    copied.pixels.assign(slot, slot + entry.rows * row_bytes);
    const auto* notes = reinterpret_cast<const std::byte*>(&consumer.page()) + entry.notes_offset;
    copied.labels.resize(entry.rows);
    copied.ids.resize(entry.rows);
    std::memcpy(copied.labels.data(), notes, entry.rows * sizeof(int64_t));
    std::memcpy(copied.ids.data(), notes + EngineRig::kBatch * sizeof(int64_t),
                entry.rows * sizeof(uint64_t));
    return copied;
  }
  // Takes, copies and releases the announced batches, oldest first or out of order.
  void TakeSome(uint64_t session, std::vector<Copied>& batches) {
    Consumer& mine = rig_.consumer(session);
    const uint64_t announced = mine.announced();
    for (uint64_t sequence = batches.size() + 1; sequence <= announced; ++sequence) {
      batches.push_back(Copy(session, sequence));
      mine.Take(sequence);
    }
    for (uint64_t sequence = announced; sequence > 0; --sequence) mine.Release(sequence);
  }
  std::vector<Copied> TakeAll(uint64_t session) {
    std::vector<Copied> batches;
    EXPECT_TRUE(rig_.RunUntil([&] {
      TakeSome(session, batches);
      return rig_.consumer(session).state() != shm::SessionState::kOpen &&
             batches.size() == rig_.consumer(session).announced();
    }));
    return batches;
  }

  FakeCopier* copier_ = nullptr;
  bool copying_ = true;
  std::minstd_rand random_{7};
  EngineRig rig_{1,
                 [this](const cuda::Uuid&) -> absl::StatusOr<std::unique_ptr<exporting::Copier>> {
                   auto copier = std::make_unique<FakeCopier>();
                   copier_ = copier.get();
                   return copier;
                 }};
};

TEST_F(DeviceTest, AnEpochOnAGpuIsTheSameAsInHostMemory) {
  const std::vector<Copied> on_gpu = TakeAll(rig_.Open(Request()));
  const std::vector<Copied> in_host = rig_.TakeAll(HostSession());

  EXPECT_EQ(on_gpu.size(), kBatches);
  EXPECT_TRUE(on_gpu == in_host);
}

TEST_F(DeviceTest, EightTrainersOfOneSpeedMakeOneCopyABatch) {
  std::vector<uint64_t> sessions;
  for (uint64_t peer = 1; peer <= 8; ++peer) sessions.push_back(rig_.Open(Request(peer)));
  const std::vector<Copied> expected = rig_.TakeAll(HostSession());

  std::vector<std::vector<Copied>> batches(8);
  EXPECT_TRUE(rig_.RunUntil([&] {
    uint64_t least = kBatches;
    for (uint64_t session : sessions) least = std::min(least, rig_.consumer(session).announced());
    for (size_t i = 0; i < 8; ++i)
      if (batches[i].size() < least) TakeSome(sessions[i], batches[i]);
    return least == kBatches;
  }));

  for (const std::vector<Copied>& theirs : batches) EXPECT_TRUE(theirs == expected);
  EXPECT_EQ(copier_->copies_asked, kBatches);
}

TEST_F(DeviceTest, ATrainerThatDiesHoldingBatchesHurtsNoNeighbour) {
  const uint64_t victim = rig_.Open(Request(1)), neighbour = rig_.Open(Request(2));
  ASSERT_TRUE(rig_.RunUntilAnnounced(victim, 2));

  rig_.engine().PeerDisconnected(1);
  rig_.engine().PeerGone(1, base::Now());
  const std::vector<Copied> batches = TakeAll(neighbour);

  EXPECT_TRUE(batches == rig_.TakeAll(HostSession()));
  EXPECT_EQ(rig_.engine().views().View().gpus.at(0).view.sessions, 1u);
}

TEST_F(DeviceTest, AClosedSessionKeepsItsBatchesUntilItsGpuHasReleasedThem) {
  const uint64_t session = rig_.Open(Request());
  ASSERT_TRUE(rig_.RunUntilAnnounced(session, 2));
  const Copied held = Copy(session, 1);

  ASSERT_TRUE(rig_.engine().Close(kPeer, session, base::Now()).ok());
  const std::vector<Copied> others = TakeAll(rig_.Open(Request(6)));

  EXPECT_TRUE(rig_.engine().MustBePolled());
  EXPECT_TRUE(Copy(session, 1) == held) << "somebody wrote over a batch that is in use";
  EXPECT_EQ(others.size(), kBatches);
  for (uint64_t sequence : {1, 2}) rig_.consumer(session).Release(sequence);
  EXPECT_TRUE(rig_.RunUntil([&] { return !rig_.engine().MustBePolled(); }));
}

TEST_F(DeviceTest, HostSlotsAreLetGoWhileTheTrainerHoldsItsBatches) {
  const uint64_t session = rig_.Open(Request());
  ASSERT_TRUE(rig_.RunUntilAnnounced(session, 2));

  EXPECT_TRUE(rig_.RunUntil([&] {
    const SlotCounts slots = rig_.engine().views().View().slots;
    return slots.held == 3 && slots.filling == 0;  // its window, all ahead of what it took
  }));
  const SessionInfo info = rig_.engine().views().Sessions().at(0);
  EXPECT_EQ(info.announced, 2u);
  EXPECT_EQ(info.taken, 0u);
  EXPECT_EQ(info.on_device, 2u);
  EXPECT_EQ(rig_.engine().views().View().gpus.at(0).batches_ahead, 2u);
}

TEST_F(DeviceTest, ALostGpuIsTheEndOfAllSessionsInWords) {
  const uint64_t session = rig_.Open(Request());
  ASSERT_TRUE(rig_.RunUntilAnnounced(session, 1));
  copying_ = false;

  copier_->failure = absl::InternalError("an illegal address");

  EXPECT_TRUE(
      rig_.RunUntil([&] { return rig_.consumer(session).state() == shm::SessionState::kFailed; }));
  EXPECT_THAT(std::string(rig_.consumer(session).page().error), HasSubstr("an illegal address"));
  EXPECT_FALSE(rig_.engine().status().ok());
}

TEST_F(DeviceTest, SegmentsThatThePoolGivesUpAreLetGoByTheCopierToo) {
  const uint64_t session = rig_.Open(Request());
  TakeAll(session);
  EXPECT_FALSE(copier_->segments.empty());
  ASSERT_TRUE(rig_.engine().Close(kPeer, session, base::Now()).ok());

  rig_.engine().Tick(base::Now() + std::chrono::minutes(2));

  EXPECT_THAT(copier_->segments, IsEmpty());
}

}  // namespace
}  // namespace penstock::feed
