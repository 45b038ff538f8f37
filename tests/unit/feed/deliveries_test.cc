// Deliveries between a core and the pages of consumers played by the test.
#include "server/feed/engine/deliveries.h"

#include <cstring>

#include "tests/unit/feed/session_rig.h"

namespace penstock::feed {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DeliveriesTest : public SessionRig {
 protected:
  absl::Status answer_;
  std::vector<uint64_t> sent_;  // peers
  SegmentSender segments_{[this](uint64_t peer, const void*, size_t, const std::vector<int>&) {
    sent_.push_back(peer);
    return answer_;
  }};
  Statistics statistics_{core_, 1};
  TraceRecorder trace_{sessions_};
  Deliveries parts_{core_, pool_, sessions_, segments_, statistics_, trace_};
};

TEST_F(DeliveriesTest, AFullBatchIsAnnouncedOnceAfterItsSegment) {
  const uint64_t id = Open(kPeer, MakeFeed());
  EXPECT_FALSE(parts_.Announce(now_));
  Fill(2);

  EXPECT_TRUE(parts_.Announce(now_));
  EXPECT_FALSE(parts_.Announce(now_));

  ASSERT_THAT(delivery(id).announced, SizeIs(2));
  EXPECT_EQ(delivery(id).announced[1].sequence, 2u);
  EXPECT_EQ(delivery(id).announced[1].rows, kRows);
  EXPECT_THAT(sent_, ElementsAre(kPeer)) << "both are in one segment";
  EXPECT_EQ(sessions_.Find(id)->announced, 2u);
  EXPECT_EQ(statistics_.users().all().at(0).batches_announced, 2u);
}

TEST_F(DeliveriesTest, WhoDoesNotReadThePoolIsSentNoSegment) {
  const uint64_t id = Open(kPeer, MakeFeed());
  delivery(id).in_pool = false;
  Fill(1);

  parts_.Announce(now_);

  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_THAT(delivery(id).announced, SizeIs(1));
}

TEST_F(DeliveriesTest, WhoCannotBeSentASegmentFailsAndIsToldNothing) {
  const uint64_t id = Open(kPeer, MakeFeed());
  answer_ = absl::UnavailableError("its doorway is closed");
  Fill(1);

  parts_.Announce(now_);

  EXPECT_EQ(delivery(id).state, shm::SessionState::kFailed);
  EXPECT_THAT(delivery(id).announced, IsEmpty());
}

TEST_F(DeliveriesTest, AStandInFailsWhoWantsNone) {
  const uint64_t id = Open(kPeer, MakeFeed());
  sessions_.Find(id)->request.fail_on_bad_sample = true;
  const RowTask task = core_.NextRow().value();
  const pool::SlotPlace& place = pool_.Place(task.slot.value());
  const uint64_t another = 19;
  std::memcpy(place.data + place.layout.ids_offset, &another, sizeof(another));
  core_.RowDone(task);
  core_.RowDone(core_.NextRow().value());

  parts_.Announce(now_);

  EXPECT_EQ(delivery(id).state, shm::SessionState::kFailed);
  EXPECT_TRUE(absl::IsDataLoss(delivery(id).reason));
}

TEST_F(DeliveriesTest, WhatAConsumerReleasesIsFilledAgain) {
  const uint64_t id = Open(kPeer, MakeFeed());
  Fill(2);
  parts_.Announce(now_);
  EXPECT_FALSE(core_.NextRow().has_value());

  delivery(id).heard = {.taken = 1, .released = {1}};
  EXPECT_TRUE(parts_.Listen(now_));
  delivery(id).heard.released.clear();
  EXPECT_FALSE(parts_.Listen(now_));

  EXPECT_TRUE(core_.NextRow().has_value());
}

TEST_F(DeliveriesTest, AConsumerThatSaysWhatCannotBeFailsAlone) {
  const uint64_t id = Open(kPeer, MakeFeed()), other = Open(kOtherPeer, MakeFeed(), 2000);
  delivery(id).heard.taken = 5;

  parts_.Listen(now_);

  EXPECT_EQ(delivery(id).state, shm::SessionState::kFailed);
  EXPECT_EQ(delivery(other).state, std::nullopt);
}

TEST_F(DeliveriesTest, AfterTheLastBatchItsSessionIsFinished) {
  const uint64_t id = Open(kPeer, MakeFeed());
  core_.CloseSession(SessionId(id));
  SessionSpec spec{.user = UserId(1000),
                   .feed = sessions_.Find(id)->feed->id,
                   .arena = ArenaId(sessions_.Find(id)->arena)};
  spec.share = {.samples = kSamples, .batch_size = kRows};
  spec.share.consumed = kSamples - kRows;
  spec.epochs = 1;
  spec.window = 2;
  ASSERT_TRUE(core_.OpenSession(SessionId(id), spec, now_).ok());
  sessions_.FinishIfDone(id);
  EXPECT_EQ(delivery(id).state, std::nullopt);

  Fill(1);
  parts_.Announce(now_);

  EXPECT_EQ(delivery(id).state, shm::SessionState::kFinished);
}

}  // namespace
}  // namespace penstock::feed
