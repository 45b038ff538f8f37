#include "server/feed/sessions/session_info.h"

#include "tests/unit/feed/session_rig.h"

namespace penstock::feed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SessionInfoTest : public SessionRig {
 protected:
  SessionView View(uint64_t id) const { return sessions_.ViewOf(id); }
  SessionFacts Facts(uint64_t id, bool stalled = false) {
    return MakeFacts(*sessions_.Find(id), View(id), stalled);
  }
};

TEST_F(SessionInfoTest, WhatASessionWaitsForFollowsFromItsWindow) {
  const uint64_t id = Open(kPeer, MakeFeed());
  EXPECT_EQ(PhaseOf(Facts(id)), SessionPhase::kDecoding);
  EXPECT_EQ(PhaseOf(Facts(id, true)), SessionPhase::kStalled);
  Fill(2);
  EXPECT_EQ(PhaseOf(Facts(id)), SessionPhase::kRunning);
  core_.TakeAnnouncements();

  ASSERT_TRUE(core_.Taken(SessionId(id), 2, now_).ok());

  EXPECT_EQ(PhaseOf(Facts(id)), SessionPhase::kWaitingForTrainer);
  sessions_.PeerDisconnected(kPeer);
  EXPECT_EQ(PhaseOf(Facts(id)), SessionPhase::kEnded);
}

TEST_F(SessionInfoTest, StoredRowsAreCopied) {
  const auto feed = MakeFeed();
  const uint64_t id = Open(kPeer, feed);

  feed->spec.storage = source::Storage::kRows;

  EXPECT_EQ(PhaseOf(Facts(id)), SessionPhase::kCopying);
}

TEST_F(SessionInfoTest, AStallIsSaidWithItsAgeAndReason) {
  const SourceHealth::Trouble stall = {now_, "/data/7.jpg: gone"};

  EXPECT_EQ(InWords(SessionPhase::kStalled, stall, now_ + milliseconds(12'700)),
            "source stalled for 12 s: /data/7.jpg: gone");
  EXPECT_EQ(InWords(SessionPhase::kDecoding, {}, now_), "decoding");
}

TEST_F(SessionInfoTest, ProgressIsOfTheSessionsOwnDatasetAndOfAllWorkers) {
  const uint64_t id = Open(kPeer, MakeFeed());
  Fill(1);
  const testing::FakeDataset another(3);
  workers::WorkerView idle, mine, theirs;
  mine.user = theirs.user = sessions_.Find(id)->request.user;
  mine.utilisation = theirs.utilisation = 1;
  mine.in_hand = {.dataset = dataset_->dataset.get(), .sample = 7, .since = now_};
  theirs.in_hand = {.dataset = &another, .sample = 1, .since = now_ - seconds(9)};
  theirs.state = workers::WorkerState::kRestarting;

  SessionProgress progress = MakeProgress(*sessions_.Find(id), View(id));
  AddWorkers({idle, mine, theirs}, *sessions_.Find(id), now_ + seconds(2), progress);

  EXPECT_EQ(progress.announced, 1u);
  EXPECT_EQ(progress.window, 2u);
  EXPECT_EQ(progress.workers, 3u);
  EXPECT_EQ(progress.workers_running, 2u);
  EXPECT_NEAR(progress.workers_busy, 2.0 / 3, 1e-9);
  EXPECT_EQ(progress.in_hand, seconds(2));
  EXPECT_EQ(progress.in_hand_path, "/fake/7");
}

TEST_F(SessionInfoTest, ProgressNamesNoSampleThatAnotherUsersWorkerHas) {
  const uint64_t id = Open(kPeer, MakeFeed());
  const SessionRecord& session = *sessions_.Find(id);
  workers::WorkerView theirs;
  theirs.user = session.request.user + 1;
  theirs.in_hand = {.dataset = dataset_->dataset.get(), .sample = 7, .since = now_};

  SessionProgress progress = MakeProgress(session, View(id));
  AddWorkers({theirs}, session, now_ + seconds(2), progress);

  EXPECT_EQ(progress.workers, 1u);
  EXPECT_EQ(progress.in_hand, base::Duration::zero());
  EXPECT_EQ(progress.in_hand_path, "");
}

}  // namespace
}  // namespace penstock::feed
