#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "tests/system/engine/engine_rig.h"

namespace penstock::feed {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const testing::FakeDataset::Bytes kNoPhotograph(100, std::byte{'x'});

std::vector<Copied> Undisturbed() {
  EngineRig rig;
  return rig.TakeAll(rig.Open(rig.Request(kPeer)));
}

std::string ErrorOf(const Consumer& consumer) { return consumer.page().error; }

bool NothingIsHeld(EngineRig& rig) {
  const SlotCounts slots = rig.engine().views().View().slots;
  return slots.held == 0 && slots.filling == 0;
}

// ---- Consumers that write false counters ----

TEST(EngineTest, AConsumerThatTakesWhatWasNotAnnouncedFailsAndItsNeighbourDoesNot) {
  EngineRig rig;
  const uint64_t liar = rig.Open(rig.Request(kPeer));
  const uint64_t honest = rig.Open(rig.Request(kOtherPeer));
  ASSERT_TRUE(rig.RunUntilAnnounced(liar, 1));

  rig.consumer(liar).Take(1000);
  const std::vector<Copied> batches = rig.TakeAll(honest);

  EXPECT_EQ(batches.size(), kBatches);
  EXPECT_EQ(rig.consumer(liar).state(), shm::SessionState::kFailed);
  EXPECT_THAT(ErrorOf(rig.consumer(liar)), HasSubstr("took 1000 batches"));
}

TEST(EngineTest, AConsumerThatReleasesWhatItDidNotTakeFails) {
  EngineRig rig;
  const uint64_t session = rig.Open(rig.Request(kPeer));
  ASSERT_TRUE(rig.RunUntilAnnounced(session, 2));

  rig.consumer(session).Release(2);

  EXPECT_TRUE(
      rig.RunUntil([&] { return rig.consumer(session).state() == shm::SessionState::kFailed; }));
}

// ---- Leaving at bad moments ----

// The CloseSession call may have been lost because the client could not wait for the response or
// was disconnected.
TEST(EngineTest, ASessionThatItsConsumerLeftIsClosedAlthoughNobodySaidSo) {
  EngineRig rig;
  const uint64_t left = rig.Open(rig.Request(kPeer));
  const uint64_t stays = rig.Open(rig.Request(kPeer));
  ASSERT_TRUE(rig.RunUntilAnnounced(left, 1));
  EXPECT_TRUE(rig.engine().Holds(kPeer));

  rig.consumer(left).page().left.store(1);

  EXPECT_TRUE(rig.RunUntil([&] { return rig.engine().sessions() == 1; }));
  EXPECT_EQ(rig.TakeAll(stays).size(), kBatches);
  EXPECT_TRUE(rig.engine().Close(kPeer, left, base::Now()).ok());  // a late close is not an error
  EXPECT_TRUE(rig.engine().Close(kPeer, stays, base::Now()).ok());
  EXPECT_FALSE(rig.engine().Holds(kPeer));
}

TEST(EngineTest, ASessionClosedWhileItsRowsAreWithWorkersLeavesNothingAndChangesNoByte) {
  EngineRig rig(2);
  for (int i = 0; i < 20; ++i) {
    const uint64_t session = rig.Open(rig.Request(kPeer));
    rig.engine().Pump(base::Now());  // gives the rows to the workers
    ASSERT_GT(rig.engine().views().View().slots.filling, 0u);

    ASSERT_TRUE(rig.engine().Close(kPeer, session, base::Now()).ok());
  }

  EXPECT_TRUE(rig.RunUntil([&] { return NothingIsHeld(rig); }));
  EXPECT_EQ(rig.TakeAll(rig.Open(rig.Request(kPeer))), Undisturbed());
}

TEST(EngineTest, APeerThatIsGoneWhileBatchesAreOutHoldsNoSlotAndNoMemory) {
  EngineRig rig;
  const uint64_t session = rig.Open(rig.Request(kPeer));
  ASSERT_TRUE(rig.RunUntilAnnounced(session, 3));
  rig.consumer(session).Take(2);
  rig.engine().Pump(base::Now());
  ASSERT_EQ(rig.engine().views().View().slots.held, 3u);

  rig.engine().PeerDisconnected(kPeer);
  EXPECT_EQ(rig.engine().views().View().slots.held, 3u);
  rig.engine().PeerGone(kPeer, base::Now());

  EXPECT_TRUE(rig.RunUntil([&] { return NothingIsHeld(rig); }));
  rig.engine().Tick(base::Now() + std::chrono::minutes(2));
  EXPECT_EQ(rig.engine().views().View().pool.segments, 0u);
}

TEST(EngineTest, ADisconnectedPeerIsToldOfNothingMoreAndItsReleasesStillCount) {
  EngineRig rig;
  const uint64_t session = rig.Open(rig.Request(kPeer));
  ASSERT_TRUE(rig.RunUntilAnnounced(session, 3));

  rig.engine().PeerDisconnected(kPeer);
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    rig.consumer(session).Take(sequence);
    rig.consumer(session).Release(sequence);
  }

  EXPECT_TRUE(rig.RunUntil([&] { return NothingIsHeld(rig); }));
  EXPECT_EQ(rig.consumer(session).announced(), 3u);
}

// ---- Sharing ----

TEST(EngineTest, TwoUsersGetTheSameBytesInSegmentsOfTheirOwn) {
  EngineRig rig(2);
  const uint64_t mine = rig.Open(rig.Request(kPeer, 1000));
  const uint64_t theirs = rig.Open(rig.Request(kOtherPeer, 2000));
  ASSERT_TRUE(rig.RunUntilAnnounced(mine, 1) && rig.RunUntilAnnounced(theirs, 1));

  EXPECT_NE(rig.consumer(mine).Entry(1).segment, rig.consumer(theirs).Entry(1).segment);
  EXPECT_EQ(rig.TakeAll(mine), rig.TakeAll(theirs));
  EXPECT_EQ(rig.engine().views().View().samples_decoded, 2 * EngineRig::kSamples);
}

TEST(EngineTest, TwoSessionsOfAUserGetTheSameSlotsDecodedOnce) {
  EngineRig rig(2);
  const uint64_t first = rig.Open(rig.Request(kPeer));
  const uint64_t second = rig.Open(rig.Request(kOtherPeer));

  EXPECT_EQ(rig.TakeAll(first), rig.TakeAll(second));

  EXPECT_EQ(rig.engine().views().View().samples_decoded, EngineRig::kSamples);
}

TEST(EngineTest, ASegmentThatCouldNotBeSentIsSentToTheNextSession) {
  EngineRig rig;
  const uint64_t first = rig.Open(rig.Request(kPeer));
  rig.send_status = absl::ResourceExhaustedError("it does not read its doorway");
  ASSERT_TRUE(
      rig.RunUntil([&] { return rig.consumer(first).state() == shm::SessionState::kFailed; }));
  rig.send_status = absl::OkStatus();

  const uint64_t second = rig.Open(rig.Request(kPeer));

  EXPECT_EQ(rig.TakeAll(second), Undisturbed());
}

// ---- Bad samples and sources ----

TEST(EngineTest, AFeedThatFailedIsOpenedAnewOnceItsSourceIsBack) {
  EngineRig rig;
  rig.Become(2, absl::UnavailableError("/fake/2: the server is away"));
  const uint64_t failed = rig.Open(rig.Request(kPeer));
  ASSERT_TRUE(
      rig.RunUntil([&] { return rig.consumer(failed).state() == shm::SessionState::kFailed; }));
  EXPECT_THAT(ErrorOf(rig.consumer(failed)), HasSubstr("the server is away"));

  rig.Become(2, EngineRig::Photograph(2));
  const uint64_t again = rig.Open(rig.Request(kPeer));

  EXPECT_EQ(rig.TakeAll(again), Undisturbed());
  EXPECT_TRUE(rig.engine().Close(kPeer, failed, base::Now()).ok());
  EXPECT_TRUE(rig.engine().Close(kPeer, again, base::Now()).ok());
  EXPECT_TRUE(rig.RunUntil([&] { return NothingIsHeld(rig); }));
}

TEST(EngineTest, AQuarantineThatGrowsWhileBatchesAreOutChangesTheBatchesAfterIt) {
  EngineRig rig;
  const uint64_t before = rig.Open(rig.Request(kPeer));
  ASSERT_TRUE(rig.RunUntilAnnounced(before, 3));
  const Copied first = rig.Copy(before, 1);
  ASSERT_THAT(first.ids, Contains(1));

  for (uint64_t sample : {1, 30})
    rig.dataset()->quarantine.Add({.sample = sample, .path = "", .fault = base::Fault::kTimeout});
  rig.engine().QuarantineChanged(*rig.dataset());
  const auto after = rig.Ask(rig.Request(kOtherPeer));
  const std::vector<Copied> anew = rig.TakeAll(after->session);

  EXPECT_EQ(after->quarantine_version, 2u);
  EXPECT_THAT(anew[0].ids, Not(Contains(1)));
  EXPECT_EQ(rig.Copy(before, 1), first);  // still held, so its bytes do not change
  const std::vector<Copied> rest = rig.TakeAll(before);
  ASSERT_EQ(rest.size(), kBatches);
  EXPECT_EQ(rest[0], first);
  for (size_t i = 3; i < kBatches; ++i) EXPECT_EQ(rest[i], anew[i]) << i;
}

TEST(EngineTest, ASessionThatWantsNoStandInsFailsAtTheBatchThatHasOneAndNotBefore) {
  EngineRig rig;
  rig.Become(9, kNoPhotograph);
  OpenRequest strict = rig.Request(kPeer);
  strict.fail_on_bad_sample = true;
  const uint64_t session = rig.Open(strict);

  const std::vector<Copied> batches = rig.TakeAll(session);

  EXPECT_EQ(batches.size(), 2u);  // samples 0 to 7
  EXPECT_EQ(rig.consumer(session).state(), shm::SessionState::kFailed);
  EXPECT_THAT(ErrorOf(rig.consumer(session)), HasSubstr("sample 9 of 'flowers' (/fake/9)"));
  EXPECT_THAT(ErrorOf(rig.consumer(session)), HasSubstr("not an image"));
}

TEST(EngineTest, ASessionThatWantsNoStandInsGetsNoneFromItsNeighbours) {
  EngineRig rig;
  rig.Become(1, kNoPhotograph);
  const uint64_t lenient = rig.Open(rig.Request(kOtherPeer));
  ASSERT_TRUE(rig.RunUntilAnnounced(lenient, 3));
  OpenRequest strict = rig.Request(kPeer);
  strict.fail_on_bad_sample = true;

  const uint64_t session = rig.Open(strict);

  EXPECT_TRUE(rig.TakeAll(session).empty());
  EXPECT_EQ(rig.consumer(session).state(), shm::SessionState::kFailed);
  EXPECT_EQ(rig.TakeAll(lenient).size(), kBatches);
}

TEST(EngineTest, ASessionThatWantsNoStandInsFailsAtQuarantinedSamplesToo) {
  EngineRig rig;
  rig.dataset()->quarantine.Add({.sample = 5, .path = "", .fault = base::Fault::kTimeout});
  OpenRequest strict = rig.Request(kPeer);
  strict.fail_on_bad_sample = true;
  const uint64_t session = rig.Open(strict);

  EXPECT_EQ(rig.TakeAll(session).size(), 1u);

  EXPECT_THAT(ErrorOf(rig.consumer(session)), HasSubstr("sample 5"));
}

// ---- Stopping the engine ----

TEST(EngineTest, AtTheEndEverySessionIsToldAndWhatFailedBeforeKeepsItsReason) {
  EngineRig rig;
  const uint64_t open = rig.Open(rig.Request(kPeer));
  const uint64_t done = rig.Open(rig.Request(kOtherPeer));
  rig.TakeAll(done);

  rig.engine().CloseAll();

  EXPECT_EQ(rig.consumer(open).state(), shm::SessionState::kClosing);
  EXPECT_EQ(rig.consumer(done).state(), shm::SessionState::kFinished);
}

}  // namespace
}  // namespace penstock::feed
