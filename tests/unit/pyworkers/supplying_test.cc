// A host that supplies a dataset, from its entry to its end.
#include "tests/unit/pyworkers/hosts_rig.h"

namespace penstock::pyworkers {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(SupplyingTest, ABatchIsMadeAfterItsSegmentWasSent) {
  ASSERT_TRUE(MayMake());
  Submit(5);

  EXPECT_THAT(segments_, ElementsAre(std::pair(kWorkerPeer + 10, 3u)));
  Finish(worker(0));
  const MakerNews news = Collect();
  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].id, 5u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kMade);
}

TEST_F(SupplyingTest, TheTimeOfWorkersIsCountedWhileTheyMakeABatchAndOnceAfterwards) {
  Submit(5);
  now_ += 300ms;
  EXPECT_EQ(hosts_.Totals(now_).making, 300ms);
  now_ += 100ms;
  Finish(worker(0));
  Collect();
  now_ += 1s;

  const MakerTotals totals = hosts_.Totals(now_);
  EXPECT_EQ(totals.making, 400ms);
  EXPECT_EQ(totals.made, 1u);
  EXPECT_EQ(totals.hosts, 1u);
}

TEST_F(SupplyingTest, DeathsAreCountedAndTheTimeOfTheBatchStaysCountedUntilItsHostSpeaks) {
  Submit(5);
  worker(0).Take();
  now_ += 300ms;
  host_->processes.at(0)->Die();
  Collect();
  EXPECT_EQ(hosts_.Totals(now_).making, 300ms);
  Reap(*host_, 0, SIGSEGV, "");
  Collect();

  const MakerTotals totals = hosts_.Totals(now_);
  EXPECT_EQ(totals.making, 300ms);
  EXPECT_EQ(totals.lost, 1u);
  EXPECT_EQ(totals.deaths, 1u);
  EXPECT_EQ(totals.made, 0u);
}

TEST_F(SupplyingTest, AViewSaysWhichBatchAndRowAWorkerHas) {
  Submit(5);
  const uint64_t sequence = worker(0).Take()->sequence;
  worker(0).page().row = shm::PackRow(sequence, 3);
  now_ += 2s;

  const std::vector<PyWorkerView> views = hosts_.View();

  ASSERT_TRUE(views.at(0).in_hand.has_value());
  EXPECT_EQ(views[0].in_hand->item, 5u);
  EXPECT_EQ(views[0].in_hand->row, 3u);
  EXPECT_EQ(now_ - views[0].in_hand->since, 2s);
  EXPECT_FALSE(views.at(1).in_hand.has_value());
}

TEST_F(SupplyingTest, OnlyFreeWorkersGetBatches) {
  Submit(5);
  Submit(6);
  EXPECT_FALSE(MayMake());

  Finish(worker(1));
  Collect();

  EXPECT_TRUE(MayMake());
}

TEST_F(SupplyingTest, AWorkerThatCannotBeSentItsSegmentIsKilledAndTheBatchLost) {
  can_send_ = false;
  Submit(5);

  EXPECT_EQ(host_->processes.at(0)->AwaitDeath(), SIGKILL);
  const MakerNews news = Collect();
  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kLost);
}

TEST_F(SupplyingTest, AWorkersDeathIsTheBatchsStrikeWithItsWords) {
  Submit(5);
  worker(0).Take();
  host_->processes.at(0)->Die();
  EXPECT_THAT(Collect().results, IsEmpty()) << "its host will say how it died";
  Reap(*host_, 0, SIGSEGV, "Fatal Python error");

  const MakerNews news = Collect();

  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kStrike);
  EXPECT_EQ(news.results[0].how, "killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(news.results[0].words, "Fatal Python error");
  ASSERT_EQ(news.deaths.size(), 1u);
  EXPECT_EQ(news.deaths[0].account, 7u);
  EXPECT_EQ(news.deaths[0].dataset, dataset_.get());
}

TEST_F(SupplyingTest, WorkersThatEndBeforeTheyBeginABatchFailItsFeedsWithTheLastReason) {
  for (uint32_t died = 1; died <= 6; ++died) {  // twice for each of two workers, and two more
    EXPECT_THAT(failed_, IsEmpty());
    host_->processes.at(0)->Die();
    Reap(*host_, 0, 4 << 8, "bad day");
    Pass(100ms);
    if (died < 6) {
      Pass(10s);
      StartWorker(*host_, token_, 0);
    }
  }

  ASSERT_EQ(failed_.size(), 1u);
  EXPECT_THAT(failed_[0], HasSubstr("6 Python workers in a row ended before they began a batch"));
  EXPECT_THAT(failed_[0], HasSubstr("exit code 4; its last words: bad day"));
}

TEST_F(SupplyingTest, WorkersThatEndBetweenBatchesDoNotFailItsFeeds) {
  for (uint32_t died = 1; died <= 12; ++died) {
    Submit(died);
    Finish(worker(0));
    Collect();
    host_->processes.at(0)->Die();
    Reap(*host_, 0, SIGKILL, "");
    Pass(1s);
    StartWorker(*host_, token_, 0);
  }

  EXPECT_THAT(failed_, IsEmpty());
}

TEST_F(SupplyingTest, AStrikeDoesNotWaitLongForAHostThatSaysNothing) {
  Submit(5);
  worker(0).Take();
  host_->processes.at(0)->Die();
  Collect();
  now_ += kAwaitWords;

  EXPECT_EQ(Collect().results.size(), 1u);
}

TEST_F(SupplyingTest, ANeedForRoomIsAnsweredAtItsWorker) {
  Submit(5);
  worker(0).NeedsRoom(worker(0).Take()->sequence, 9000);
  const MakerNews news = Collect();
  ASSERT_EQ(news.needs.size(), 1u);

  hosts_.GiveRoom(news.needs[0], 12288, now_);

  EXPECT_EQ(worker(0).Take()->granted, 12288u);
}

TEST_F(SupplyingTest, TheMostWorkersThatASessionAsksForCount) {
  Open(2, kOtherTrainer, 3);
  EXPECT_EQ(host_->place(2).wanted_starts, 1u);
  Open(3, kOtherTrainer, 1);
  hosts_.Tick(now_);
  EXPECT_EQ(host_->place(3).wanted_starts, 0u);
}

TEST_F(SupplyingTest, AWorkerOfAnOlderStartOrOfNoHostIsSentAway) {
  const FakeProcess stranger;
  hosts_.Arrived({.peer = 50,
                  .token = token_,
                  .worker = ChannelEndpoint::Worker{.place = 0, .start = 1},
                  .process = stranger.pidfd()},
                 now_);
  const HostToken other = Open(2, kOtherTrainer);
  hosts_.Arrived({.peer = 51,
                  .token = other,
                  .worker = ChannelEndpoint::Worker{.place = 2, .start = 1},
                  .process = stranger.pidfd()},
                 now_);

  EXPECT_THAT(closed_, UnorderedElementsAre(50u, 51u));
}

TEST_F(SupplyingTest, WhenTheHostDiesItsBatchesAreLostAndAnotherTrainerIsAskedAtOnce) {
  const HostToken other = Open(2, kOtherTrainer, 2);
  looks_[2].is_waiting = true;
  Submit(5);
  worker(0).Take();
  hosts_.PeerLeft(kTrainer);  // as when the trainer was killed, which ends its host
  hosts_.SessionClosed(1, now_);
  host_->process.Die();
  host_->processes.at(0)->Die();
  host_->processes.at(1)->Die();

  const MakerNews news = Collect();
  WantRow();

  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kLost);
  EXPECT_EQ(wanted_[2], 1u);
  const auto next = Enter(other, kHostPeer + 1);
  StartWorker(*next, other, 0);
  EXPECT_TRUE(MayMake());
}

// It kills its workers before it exits.
TEST_F(SupplyingTest, ABatchIsNotToBlameForTheDeathOfAWorkerWhoseHostEndsInOrder) {
  Submit(5);
  worker(0).Take();
  host_->processes.at(0)->Die();
  EXPECT_THAT(Collect().results, IsEmpty()) << "its host may say how it died";
  host_->process.Die();

  const MakerNews news = Collect();

  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kLost);
  EXPECT_EQ(news.results[0].row, std::nullopt);
}

TEST_F(SupplyingTest, AHostWhoseConnectionIsClosedHasASecondToEnd) {
  hosts_.PeerLeft(kHostPeer);
  EXPECT_FALSE(MayMake());
  Pass(900ms);
  EXPECT_FALSE(posix::IsGone(*host_->process.pidfd()));

  Pass(300ms);

  EXPECT_EQ(host_->process.AwaitDeath(), SIGKILL);
}

TEST_F(SupplyingTest, AnUnusedHostStaysForAWhileThenIsSentAway) {
  hosts_.SessionClosed(1, now_);
  Pass(29s);
  EXPECT_THAT(closed_, IsEmpty());
  Pass(2s);

  EXPECT_THAT(closed_, ElementsAre(kHostPeer));
  hosts_.PeerLeft(kHostPeer);
  Pass(2s);
  host_->process.AwaitDeath();
  host_->processes.clear();
  Pass(1s);
  EXPECT_THAT(hosts_.supplies(), IsEmpty());
  EXPECT_EQ(dataset_.use_count(), 1);
}

TEST_F(SupplyingTest, AHostThatNoSessionWantsKeptEndsWithTheLastOne) {
  PythonSession other = Session(2, kOtherTrainer);
  other.keep_host = false;
  ASSERT_TRUE(hosts_.SessionOpened(other, now_).ok());
  hosts_.SessionClosed(2, now_);
  Pass(200ms);
  EXPECT_THAT(closed_, IsEmpty()) << "the other session needs it";
  other.id = 3;
  looks_[3].may_ask = true;
  hosts_.SessionClosed(1, now_);
  ASSERT_TRUE(hosts_.SessionOpened(other, now_).ok());
  hosts_.SessionClosed(3, now_);
  Pass(200ms);

  EXPECT_THAT(closed_, ElementsAre(kHostPeer));
  hosts_.PeerLeft(kHostPeer);
  Pass(2s);
  host_->process.AwaitDeath();
  host_->processes.clear();
  Pass(1s);
  EXPECT_THAT(hosts_.supplies(), IsEmpty()) << "each epoch has a supply of its own";
}

TEST_F(SupplyingTest, AHostThatIsNotKeptGetsNoMoreSessionsAndIsNotWaitedForByItsBatch) {
  PythonSession other = Session(2, kTrainer);
  other.keep_host = false;
  hosts_.SessionClosed(1, now_);
  ASSERT_TRUE(hosts_.SessionOpened(other, now_).ok());
  Submit(5);
  worker(0).Take();
  hosts_.SessionClosed(2, now_);
  other.id = 3;
  looks_[3].may_ask = true;
  ASSERT_TRUE(hosts_.SessionOpened(other, now_).ok());
  Pass(200ms);

  EXPECT_THAT(closed_, ElementsAre(kHostPeer)) << "although a worker has a batch";
  EXPECT_FALSE(MayMake());
  EXPECT_FALSE(wanted_.contains(3)) << "while the old one ends";
  hosts_.PeerLeft(kHostPeer);
  Pass(1500ms);
  host_->process.AwaitDeath();
  Pass(200ms);
  WantRow();
  EXPECT_EQ(wanted_[3], 1u);
}

TEST_F(SupplyingTest, TheNextSessionFindsTheHost) {
  hosts_.SessionClosed(1, now_);
  Pass(10s);

  EXPECT_EQ(Open(2, kTrainer), token_);
  EXPECT_TRUE(MayMake());
  Pass(60s);
  EXPECT_THAT(closed_, IsEmpty());
}

// ---- Streams ----

StreamPart Unit(uint64_t unit) {
  return {.feed = 1, .stream = static_cast<uint32_t>(unit % 2), .unit = unit};
}

TEST_F(SupplyingTest, AStreamsUnitsWaitForTheirWorker) {
  for (uint64_t unit : {0, 2, 4}) Submit(unit, Unit(unit));

  EXPECT_FALSE(worker(1).Take().has_value()) << "although it is free";
  EXPECT_TRUE(MayMake(/*in_stream=*/true));
  for (uint64_t unit : {0, 2, 4}) {
    Finish(worker(0));
    const MakerNews news = Collect();
    hosts_.GivenOut(now_);
    ASSERT_EQ(news.results.size(), 1u);
    EXPECT_EQ(news.results[0].id, unit);
  }
}

TEST_F(SupplyingTest, AStreamEndsWithItsWorker) {
  Submit(0, Unit(0));
  Submit(1, Unit(1));
  Finish(worker(0));
  worker(1).Take();
  Collect();
  host_->processes.at(0)->Die();
  host_->processes.at(1)->Die();
  Reap(*host_, 0, SIGKILL, "");
  Reap(*host_, 1, SIGKILL, "");
  const MakerNews news = Collect();
  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].id, 1u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kStreamLost);
  EXPECT_EQ(news.results[0].how, "killed by signal 9 (Killed)");

  Pass(200ms);
  StartWorker(*host_, token_, 0);
  Submit(2, Unit(2));

  const MakerNews later = Collect();
  ASSERT_EQ(later.results.size(), 1u);
  EXPECT_EQ(later.results[0].id, 2u);
  EXPECT_EQ(later.results[0].end, MakeEnd::kStreamLost);
  EXPECT_EQ(later.results[0].how, "killed by signal 9 (Killed)");
}

TEST_F(HostsTest, StreamsWaitForAHostAndAskForOne) {
  const HostToken token = Open(1, kTrainer, 2);
  ASSERT_TRUE(MayMake(/*in_stream=*/true));
  Submit(0, Unit(0));
  EXPECT_EQ(wanted_[1], 1u);

  const auto host = Enter(token);
  StartWorker(*host, token, 0);
  hosts_.GivenOut(now_);

  EXPECT_TRUE(host->workers.at(0)->Take().has_value());
}

TEST_F(HostsTest, WhatWaitsForAHostIsGivenBackWithTheLastSession) {
  Open(1, kTrainer, 2);
  ASSERT_TRUE(MayMake(/*in_stream=*/true));
  Submit(0, Unit(0));
  hosts_.SessionClosed(1, now_);

  const MakerNews news = Collect();
  ASSERT_EQ(news.results.size(), 1u) << "its slot is free again";
  EXPECT_EQ(news.results[0].end, MakeEnd::kLost);
  EXPECT_FALSE(MayMake(/*in_stream=*/true)) << "nobody would fork a host";
}

TEST_F(HostsTest, WhatWaitsForAWorkerThatIsNoLongerWantedIsGivenBack) {
  Open(1, kTrainer, 2);
  Open(2, kOtherTrainer, 1);
  ASSERT_TRUE(MayMake(/*in_stream=*/true));
  Submit(1, Unit(1));
  hosts_.SessionClosed(1, now_);
  EXPECT_TRUE(Collect().results.empty());
  Open(3, kTrainer, 1);

  const MakerNews news = Collect();
  ASSERT_EQ(news.results.size(), 1u);
  EXPECT_EQ(news.results[0].end, MakeEnd::kLost);
}

}  // namespace
}  // namespace penstock::pyworkers
