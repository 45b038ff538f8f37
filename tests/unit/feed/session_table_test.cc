#include "server/feed/sessions/session_table.h"

#include "tests/unit/feed/session_rig.h"

namespace penstock::feed {
namespace {

using SessionTableTest = SessionRig;
using ::testing::IsEmpty;

TEST_F(SessionTableTest, ASessionIsFoundByItsOwnProcessAlone) {
  const uint64_t id = Open(kPeer, MakeFeed());

  EXPECT_TRUE(sessions_.FindOf(kPeer, id).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(sessions_.FindOf(kOtherPeer, id).status()));
  EXPECT_TRUE(absl::IsNotFound(sessions_.FindOf(kPeer, id + 1).status()));
}

TEST_F(SessionTableTest, AUserHoldsTheWindowsOfItsSessions) {
  Open(kPeer, MakeFeed(), 1000);
  Open(kPeer, MakeFeed(), 1000);
  Open(kOtherPeer, MakeFeed(), 2000);

  EXPECT_EQ(sessions_.HeldBy(1000).sessions, 2u);
  EXPECT_EQ(sessions_.HeldBy(1000).window_bytes, 2 * sessions_.HeldBy(2000).window_bytes);
  EXPECT_EQ(sessions_.HeldBy(3000).sessions, 0u);
  EXPECT_EQ(sessions_.trainers(), 3u);
}

TEST_F(SessionTableTest, ClosingGivesBackWhatTheSessionHeldAndMayBeRepeated) {
  const uint64_t id = Open(kPeer, MakeFeed());

  EXPECT_TRUE(absl::IsPermissionDenied(sessions_.Close(kOtherPeer, id, now_)));
  EXPECT_TRUE(sessions_.Close(kPeer, id, now_).ok());
  EXPECT_TRUE(sessions_.Close(kPeer, id, now_).ok());

  EXPECT_EQ(Reserved(), 0u);
  EXPECT_FALSE(core_.View(SessionId(id)).has_value());
  EXPECT_FALSE(sessions_.Holds(kPeer));
}

TEST_F(SessionTableTest, ADeliveryThatStillHoldsBatchesOutlivesItsSession) {
  const uint64_t id = Open(kPeer, MakeFeed());
  FakeDelivery& left = delivery(id);
  left.may_go = false;

  sessions_.Close(kPeer, id, now_).IgnoreError();
  EXPECT_TRUE(sessions_.Holds(kPeer));
  EXPECT_TRUE(sessions_.MustBePolled());
  EXPECT_FALSE(sessions_.DropReleased());
  left.may_go = true;

  EXPECT_TRUE(sessions_.DropReleased());
  EXPECT_FALSE(sessions_.Holds(kPeer));
  EXPECT_FALSE(sessions_.MustBePolled());
}

TEST_F(SessionTableTest, AProcessThatIsGoneTakesAllOfItsOwnAlong) {
  const uint64_t id = Open(kPeer, MakeFeed());
  delivery(id).may_go = false;
  sessions_.Close(kPeer, id, now_).IgnoreError();
  Open(kPeer, MakeFeed());
  const uint64_t other = Open(kOtherPeer, MakeFeed());

  sessions_.PeerGone(kPeer, now_);

  EXPECT_FALSE(sessions_.Holds(kPeer));
  EXPECT_EQ(sessions_.all().size(), 1u);
  EXPECT_NE(sessions_.Find(other), nullptr);
}

TEST_F(SessionTableTest, AProcessThatOnlyDisconnectedIsGivenNothingMore) {
  const uint64_t id = Open(kPeer, MakeFeed());

  sessions_.PeerDisconnected(kPeer);

  EXPECT_TRUE(sessions_.Find(id)->ended);
  EXPECT_FALSE(core_.NextRow().has_value());
  EXPECT_GT(Reserved(), 0u);
}

TEST_F(SessionTableTest, AFeedThatFailsEndsItsOwnSessionsAlone) {
  const auto feed = MakeFeed();
  const uint64_t one = Open(kPeer, feed), two = Open(kOtherPeer, feed);
  const uint64_t other = Open(kPeer, MakeFeed());

  sessions_.FailFeed(*feed, absl::DataLossError("torn"));

  EXPECT_EQ(delivery(one).state, shm::SessionState::kFailed);
  EXPECT_EQ(delivery(two).reason, absl::DataLossError("torn"));
  EXPECT_EQ(delivery(other).state, std::nullopt);
}

TEST_F(SessionTableTest, AnAccountThatIsSpentFailsItsFeedsOnce) {
  const auto feed = MakeFeed();
  const uint64_t id = Open(kPeer, feed);

  sessions_.FailAccount(feed->account, absl::UnavailableError("too many deaths"));
  sessions_.FailAccount(feed->account, absl::UnavailableError("once more"));

  EXPECT_EQ(feed->failed, absl::UnavailableError("too many deaths"));
  EXPECT_EQ(delivery(id).reason, absl::DataLossError("too many deaths"));
}

TEST_F(SessionTableTest, WhatFailsASessionIsNeverThatTheDaemonIsGone) {
  const auto feed = MakeFeed();
  const uint64_t id = Open(kPeer, feed);

  sessions_.FailFeed(*feed, absl::UnavailableError("its worker died"));

  EXPECT_EQ(delivery(id).state, shm::SessionState::kFailed);
  EXPECT_EQ(delivery(id).reason, absl::DataLossError("its worker died"));
}

TEST_F(SessionTableTest, WhoSaidOnItsPageThatItLeftIsClosedAtTheSecondLook) {
  const uint64_t id = Open(kPeer, MakeFeed());
  delivery(id).waiting.left = true;

  sessions_.CloseThoseThatLeft(now_);
  EXPECT_NE(sessions_.Find(id), nullptr) << "its CloseSession may be on its way";
  sessions_.CloseThoseThatLeft(now_);

  EXPECT_THAT(sessions_.all(), IsEmpty());
}

TEST_F(SessionTableTest, AllHearThatTheDaemonEndsAndWhetherItSleeps) {
  const uint64_t id = Open(kPeer, MakeFeed());

  sessions_.SetAsleep(true);
  sessions_.AnnounceClosing(absl::UnavailableError("the daemon is ending"));

  EXPECT_TRUE(delivery(id).runner_asleep);
  EXPECT_EQ(delivery(id).state, shm::SessionState::kClosing);
}

TEST_F(SessionTableTest, EventsAreWatchedFromComingToGoing) {
  std::vector<bool> watched;
  sessions_.WatchWith([&](int, bool watch) { watched.push_back(watch); });

  const uint64_t id = Open(kPeer, MakeFeed());
  sessions_.Close(kPeer, id, now_).IgnoreError();

  EXPECT_EQ(watched, (std::vector<bool>{true, false}));
}

}  // namespace
}  // namespace penstock::feed
